// SPDX-License-Identifier: MIT
// The objects loaded into a process and the addresses of their functions, read from its memory without the
// loader's help, so it does not matter whether the files on disk have changed.
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
  std::uint64_t size;  // 0: unknown
  bool is_function;    // a plain one, not an IFUNC, which is chosen when the program starts
};

// One loaded object, with its symbol lookup tables.
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

// The vDSO, which the kernel maps into every process; nothing if there is none.
std::optional<Module> read_kernel_module(const TargetMemory& memory,
                                         const std::map<std::uint64_t, std::uint64_t>& auxiliary);

// The module's own definition of an exported name.
std::optional<Symbol> find_symbol(const TargetMemory& memory, const Module& module, const std::string& name);

}  // namespace heapwright::attach
