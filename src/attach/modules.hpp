// SPDX-License-Identifier: MIT
// What the loader has loaded into a process, and where its functions are: read from its memory, without
// its help, so that it does not matter what the files on disk are by now.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attach/target_memory.hpp"

namespace heapwright::attach {

struct Symbol {
  std::uint64_t address;
  std::uint64_t size;  // 0: not known
  bool is_function;    // a plain one; not one that is chosen when the program starts
};

// One loaded object, with the tables that its symbols are found by.
struct Module {
  std::uint64_t base = 0;
  std::string path;  // empty: the program itself
  std::uint64_t symbols = 0;
  std::uint64_t strings = 0;
  std::uint64_t gnu_hash = 0;  // 0: has none
  std::uint64_t hash = 0;      // 0: has none
};

// Entries of the auxiliary vector by their type.
std::map<std::uint64_t, std::uint64_t> read_auxiliary(pid_t process);

// In the loader's order, which is the order of symbols. Empty: no loader has reported any.
std::vector<Module> read_modules(const TargetMemory& memory,
                                 const std::map<std::uint64_t, std::uint64_t>& auxiliary);

// The object that the kernel maps into every process; nothing where there is none.
std::optional<Module> read_kernel_module(const TargetMemory& memory,
                                         const std::map<std::uint64_t, std::uint64_t>& auxiliary);

// The module's own definition of a name that others see.
std::optional<Symbol> find_symbol(const TargetMemory& memory, const Module& module, const std::string& name);

}  // namespace heapwright::attach
