// SPDX-License-Identifier: MIT
// Poisson sampling by bytes, for production: a block of `size` bytes is
// recorded with probability 1 - exp(-size / mean), so that 1 / probability is
// an unbiased weight. Releases are recorded for sampled blocks only; a
// process-wide set of their addresses tells them.
#pragma once

#include <cstddef>

#include "record/lane.hpp"

namespace heapwright::record {

// Makes the set. False when there is no memory for it.
bool prepare_sampling(std::uint64_t mean_bytes) noexcept;

// Whether this allocation is to be recorded. A subtraction, mostly.
bool take_sample(ThreadRecorder& thread, std::size_t size) noexcept;

// Remembers a sampled block. False when the set is full: then it must not be
// recorded, for its release would be missed.
bool remember_sample(const void* block) noexcept;

// Forgets `block`; true when it was sampled. One probe, mostly. Lock-free.
bool forget_sample(const void* block) noexcept;

}  // namespace heapwright::record
