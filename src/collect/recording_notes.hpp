// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/layout.hpp"

namespace heapwright::collect {

// What a reader of the trace must know about a process image, from its block at the end; one line each.
std::vector<std::string> notes_of(const session::ProcessBlock& block, bool are_stacks_wanted,
                                  std::uint64_t damaged_slots);

// Calls of this process that the hooks cannot see, so that the trace is incomplete.
std::vector<std::string> unseen_of(const session::ProcessBlock& block);

}  // namespace heapwright::collect
