// SPDX-License-Identifier: MIT
// Finds a CPython in the process, so that stacks have its frames.
#pragma once

#include "record/loaded_symbols.hpp"

namespace heapwright::record {

// Looks for an interpreter of a known layout in an object. The first one is taken.
void note_interpreter(const LoadedSymbols& object) noexcept;

// Maps the tables for the frames of the noted one, if any, once the process is linked.
void use_interpreter() noexcept;

// In a fork child, before it is linked: its parent's tables are not its own.
void forget_interpreter_tables() noexcept;

}  // namespace heapwright::record
