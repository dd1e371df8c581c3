// SPDX-License-Identifier: MIT
// Sampling in the agent: which calls are not recorded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attach/recorder/threads.hpp"

namespace heapwright::attach::recorder {

// 0: every call is recorded.
inline std::uint64_t sample_mean_bytes() noexcept { return heapwright_agent.control->sample_mean_bytes; }

inline record::SampledBlocks sampled_blocks() noexcept {
  SampledMemory& sampled = *heapwright_agent.sampled;
  return {sampled.slots, sampled.alike, sampled.pages, heapwright_agent.block->recorder_private_bytes};
}

[[gnu::always_inline]] inline bool is_sampled_out(Thread& thread, std::size_t size) noexcept {
  const std::uint64_t mean_bytes = sample_mean_bytes();
  return mean_bytes != 0 && !record::take_sample(thread.sampling, size, mean_bytes);
}

// A sampled block whose release cannot be recognized is counted instead of recorded: the estimates lack it.
[[gnu::always_inline]] inline bool is_unrecordable_sample(const Thread& thread, const void* block) noexcept {
  if (sample_mean_bytes() == 0) [[likely]] {
    return false;
  }
  if (block == nullptr) return true;
  if (sampled_blocks().add(block)) [[likely]] {
    return false;
  }
  thread.lane->dropped_full.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Before the hook begins: whether the agent can ignore the block's release, as it can for most.
[[gnu::always_inline]] inline bool is_nothing_to_release(const void* block) noexcept {
  return sample_mean_bytes() != 0 && !sampled_blocks().may_hold(block);
}

// Removes a sampled block from the set, before its address can be reused.
[[gnu::always_inline]] inline bool is_release_sampled_out(const void* block) noexcept {
  return sample_mean_bytes() != 0 && (block == nullptr || !sampled_blocks().remove(block));
}

}  // namespace heapwright::attach::recorder
