// SPDX-License-Identifier: MIT
// Finds the allocator of a process, and its functions to patch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/agent/layout.hpp"
#include "attach/modules.hpp"
#include "attach/target_maps.hpp"
#include "attach/target_memory.hpp"

namespace heapwright::attach {

// Whose operators new and delete the process uses.
enum class Operators {
  none,          // no operators, or the program's own: the functions they call are counted
  of_runtime,    // the C++ runtime's, which call malloc and free
  of_allocator,  // the allocator's own
};

struct EntryPoint {
  agent::Entry entry;
  Symbol symbol;
};

struct Allocator {
  std::string path;  // empty: the program itself
  std::string name;  // for display: its path, and its version if it is glibc
  bool is_glibc = false;
  bool is_musl = false;  // its C library is
  Operators operators = Operators::none;
  std::uint64_t usable_size = 0;  // 0: it has no such function
  bool is_inner = false;          // found by the executable's symbol table
  // Where glibc itself releases what the program has released before; 0 bytes: another allocator.
  std::uint64_t own_code = 0;
  std::uint64_t own_code_bytes = 0;
  // The mapping that contains its malloc.
  std::uint64_t code = 0;
  std::uint64_t code_bytes = 0;
  std::vector<EntryPoint> points;  // by Entry; two may be one function
};

// Whether the C library is musl, which is its own loader: one file has what glibc divides between two.
bool has_musl(const TargetMemory& memory, const std::vector<Module>& modules);

// Refusal: it has none that can be counted.
Allocator find_allocator(const TargetMemory& memory, const std::vector<Module>& modules,
                         const std::vector<Mapping>& maps);

// The nothrow form of a throwing operator; count_: it is not a throwing one.
agent::Entry nothrow_form(agent::Entry entry) noexcept;

}  // namespace heapwright::attach
