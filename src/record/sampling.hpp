// SPDX-License-Identifier: MIT
// Sampling of this process, for production. Releases are recorded for sampled blocks only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/lane.hpp"
#include "record/sampled_blocks.hpp"

namespace heapwright::record {

// Creates the set of sampled blocks. False if there is no memory for it.
bool prepare_sampling() noexcept;

// Adds a sampled block. False when the set is full: then it must not be recorded, because its release would
// be missed.
bool remember_sample(const void* block) noexcept;

// The same for the allocation that take_sample() took last, and fires the probe otel_memory:alloc(address,
// size, weight in bytes).
bool begin_sample(const ThreadRecorder& thread, const void* block, std::size_t size) noexcept;

// Fires the probe otel_memory:free(address) for a sampled block that is freed and already removed from the
// set.
void end_sample(const void* block) noexcept;

[[gnu::visibility("hidden")]] extern constinit SampleSlots* sample_slots_memory;
[[gnu::visibility("hidden")]] extern constinit SamplesAlike samples_alike;
[[gnu::visibility("hidden")]] extern constinit SamplePages sample_pages;

inline SampledBlocks sampled_blocks() noexcept {
  return {*sample_slots_memory, samples_alike, sample_pages, process.block->recorder_private_bytes};
}

// False: the block was not sampled.
[[gnu::always_inline]] inline bool may_be_sampled(const void* block) noexcept {
  return sampled_blocks().may_hold(block);
}

// Removes `block`; true if it was sampled. Lock-free.
bool forget_sample(const void* block) noexcept;

}  // namespace heapwright::record
