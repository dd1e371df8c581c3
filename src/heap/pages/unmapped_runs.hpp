// SPDX-License-Identifier: MIT
// Unmapped free runs, which no limit counts: those that the system refused to make
// writable again, and those unmapped in favour of a longer one.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// Frees a run that is partly inaccessible: it holds zeros afterwards, or stays unmapped.
void take_back(std::uint32_t unit, std::uint32_t units) noexcept;

// Maps a run that is long enough and frees it. False: there is none, or mapping was refused.
bool map_again(std::uint32_t units) noexcept;

// Unmaps free runs of so many units in total, or all, so that a longer run can be mapped.
void give_up_free_runs(std::uint32_t units) noexcept;

}  // namespace heapwright::heap
