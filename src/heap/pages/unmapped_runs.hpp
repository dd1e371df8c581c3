// SPDX-License-Identifier: MIT
// Free runs that are not mapped, so that no limit counts them: those that the system
// refused to make writable again, and those that made room for a longer one.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// Frees a run some of which is out of reach: it holds zeros, or stays unmapped.
void take_back(std::uint32_t unit, std::uint32_t units) noexcept;

// One of them that is so long is mapped and free. False: there is none, or it is refused.
bool map_again(std::uint32_t units) noexcept;

// Unmaps free runs of so many units in all, or all, so that the system has as much for a longer one.
void give_up_free_runs(std::uint32_t units) noexcept;

}  // namespace heapwright::heap
