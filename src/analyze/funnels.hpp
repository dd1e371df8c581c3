// SPDX-License-Identifier: MIT
// Finds allocation wrappers in stripped code, where no name gives them away.
//
// A funnel is a frame without a name through which many different callers get
// their memory (sqlite's malloc in a stripped library): a wrapper, so the
// callers are the sites. Wrappers of wrappers are found in further rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heapwright::analyze {

enum class FrameKind : std::uint8_t { named = 0, skipped = 1, unnamed = 2 };

// So many different callers make a frame without a name a funnel.
inline constexpr std::size_t funnel_callers = 8;

// The funnels' frames, ascending. parents and frames: of each stack, which
// comes after its parent; stack 0 is empty. kinds: by frame; frames beyond are
// skipped. Bounded rounds of O(stacks x depth).
std::vector<std::uint32_t> find_funnels(std::span<const std::uint32_t> parents,
                                        std::span<const std::uint32_t> frames,
                                        std::span<const FrameKind> kinds);

}  // namespace heapwright::analyze
