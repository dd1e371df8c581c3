// SPDX-License-Identifier: MIT
// Which allocator a process uses, and which of its functions are to be patched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/agent/layout.hpp"
#include "attach/modules.hpp"
#include "attach/target_maps.hpp"
#include "attach/target_memory.hpp"

namespace heapwright::attach {

// Whose operators new and delete there are.
enum class Operators {
  none,          // nobody's, or the program's own: what they call is counted
  of_runtime,    // the C++ runtime's, which call malloc and free
  of_allocator,  // the allocator's own
};

struct EntryPoint {
  agent::Entry entry;
  Symbol symbol;
};

struct Allocator {
  std::string path;  // empty: the program itself
  std::string name;  // for people: its path, and its version where it is glibc
  bool is_glibc = false;
  Operators operators = Operators::none;
  std::uint64_t usable_size = 0;  // 0: it does not tell
  // The mapping that its malloc is in.
  std::uint64_t code = 0;
  std::uint64_t code_bytes = 0;
  std::vector<EntryPoint> points;  // by Entry; two may be one function
};

// Refusal: it has none that can be counted.
Allocator find_allocator(const TargetMemory& memory, const std::vector<Module>& modules,
                         const std::vector<Mapping>& maps);

// A throwing operator's form that gives nothing instead; count_: it is not a throwing one.
agent::Entry nothrow_form(agent::Entry entry) noexcept;

}  // namespace heapwright::attach
