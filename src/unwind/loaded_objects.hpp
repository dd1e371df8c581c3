// SPDX-License-Identifier: MIT
// Loaded objects: finds the one that holds a program counter, and maintains the process's table of modules
// (session/layout.hpp).
#pragma once

#include <cstdint>

#include "session/layout.hpp"
#include "unwind/loader_list.hpp"
#include "unwind/tables.hpp"

namespace heapwright::unwind {

// What stands in for _dl_find_object returns this where libc has none.
inline constexpr int no_find_object = -2;

// Whether there is a way to find objects: not in a static program of a libc before glibc 2.35.
bool can_find_objects() noexcept;

// Asks _dl_find_object, or the loader's list in a libc without; takes no lock. False: no such object.
bool find_loaded_object(std::uint64_t address, LoadedObject& object) noexcept;

// Whether it is in an executable segment of `object`.
bool is_code_of(const LoadedObject& object, std::uint64_t address) noexcept;

// How many modules are mapped at each level of Tables::modules. The first is a whole number of pages.
inline constexpr std::uint32_t module_levels[] = {256, 2048, session::max_modules};
inline constexpr std::uint32_t last_module_level = sizeof module_levels / sizeof module_levels[0] - 1;
static_assert(module_levels[0] * sizeof(session::ModuleEntry) % 4096 == 0);

// Ensures that `object` is in the table of modules and returns its index; no_module: there is no room.
// Retires a module at the same place, whose unloading was not seen.
inline constexpr std::uint32_t no_module = ~0U;
std::uint32_t note_module(const Tables& tables, const LoadedObject& object) noexcept;

// Retires every module that is no longer loaded.
void retire_unloaded_modules(const Tables& tables) noexcept;

// Changes whenever a module is retired: stacks stored before may contain its dead program counters.
// With an interpreter it also has a mark, for good.
std::uint32_t module_epoch() noexcept;
// How often retire_unloaded_modules() looked: what was found of a library's code may be another's since.
std::uint32_t unloads() noexcept;
// After Interpreter::tables was set: from now on, captures look at it. Before, they pay nothing for it.
void announce_interpreter() noexcept;
inline constexpr std::uint32_t epoch_with_interpreter = 1U << 31;

}  // namespace heapwright::unwind
