// SPDX-License-Identifier: MIT
// Finds the program that a command starts and checks beforehand whether it can be recorded: some programs
// ignore a preloaded library, others break with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heapwright::collect {

struct ProgramCheck {
  // Why it cannot be recorded and what to do about it; empty: it can.
  std::string refusal;
  bool is_static = false;              // linked so, without a sanitizer
  std::string path;                    // to be executed
  std::vector<std::string> arguments;  // argv; argv[0] as typed
  std::string executable;              // the ELF file that will run
  bool defines_malloc = false;
  // A jemalloc or mimalloc in it, for most that it allocates, or in a library that it is linked to.
  bool has_inner_allocator = false;
  bool is_starter = false;         // a shell or env: the program that it starts matters
  std::vector<std::string> notes;  // what the recorder will not see
};

// Whether the program at this path is made to start another one: a shell, env, setpriv and the like.
bool is_starter(const std::string& path);

enum class Way : std::uint8_t {
  preloaded,  // the recorder
  patched,    // the allocator in the executable
};

// `command` is not empty. `search_path` is the PATH variable's value.
ProgramCheck check_program(const std::vector<std::string>& command, const std::string& search_path,
                           Way way = Way::preloaded);

}  // namespace heapwright::collect
