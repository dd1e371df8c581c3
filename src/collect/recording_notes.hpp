// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/layout.hpp"

namespace heapwright::collect {

// What a reader of the trace must know of a process image, as its block
// says at the end; one line each.
std::vector<std::string> notes_of(const session::ProcessBlock& block, bool are_stacks_wanted,
                                  std::uint64_t damaged_slots);

// What the hooks cannot see of this process, for which the trace is not complete.
std::vector<std::string> unseen_of(const session::ProcessBlock& block);

}  // namespace heapwright::collect
