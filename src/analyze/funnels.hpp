// SPDX-License-Identifier: MIT
// Finds allocation wrappers that the list of names misses.
//
// A funnel is a frame through which many different callers allocate: sqlite's malloc in a stripped library,
// or a function named after what it does (ngx_alloc, AllocateHeap), for which fewer callers suffice. It is a
// wrapper, so its callers are the sites. Wrappers of wrappers are found in further rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heapwright::analyze {

enum class FrameKind : std::uint8_t { named = 0, skipped = 1, unnamed = 2, allocating = 3 };

// Number of different callers that make a frame a funnel: without a name, and with a name about allocating.
inline constexpr std::size_t funnel_callers = 8;
inline constexpr std::size_t allocating_callers = 3;

// The funnels' frames, ascending. parents and frames: for each stack, which comes after its parent; stack 0
// is empty. kinds: by frame; frames beyond its end are skipped. Bounded rounds of O(stacks x depth).
std::vector<std::uint32_t> find_funnels(std::span<const std::uint32_t> parents,
                                        std::span<const std::uint32_t> frames,
                                        std::span<const FrameKind> kinds);

}  // namespace heapwright::analyze
