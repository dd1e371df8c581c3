// SPDX-License-Identifier: MIT
// Loaded objects: which one holds a program counter, and the process's table
// of modules (session/layout.hpp).
#pragma once

#include <cstdint>

#include "session/layout.hpp"
#include "unwind/call_frame_rules.hpp"

namespace heapwright::unwind {

struct LoadedObject {
  ObjectTables tables;
  std::uint64_t bias = 0;
  const char* name = nullptr;  // the dynamic linker's; empty for the program
};

// Asks _dl_find_object, which takes no lock. False: none, or a libc without it.
bool find_loaded_object(std::uint64_t address, LoadedObject& object) noexcept;

// Makes sure `object` is in block.modules, and says where; no_module: there is no room. A module whose place
// it took was unloaded unseen and is retired.
inline constexpr std::uint32_t no_module = ~0U;
std::uint32_t note_module(session::ProcessBlock& block, const LoadedObject& object,
                          bool ticks_are_tsc) noexcept;

// Retires every module that is no longer loaded.
void retire_unloaded_modules(session::ProcessBlock& block, bool ticks_are_tsc) noexcept;

// Changes whenever a module is retired: stacks stored before may name its
// dead program counters.
std::uint32_t module_epoch() noexcept;

}  // namespace heapwright::unwind
