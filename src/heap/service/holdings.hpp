// SPDX-License-Identifier: MIT
// What the heap's memory consists of, by a walk over all units: which part of a peak is whose.
#pragma once

namespace heapwright::heap {

// Adds up what each unit holds now, for the counters page, and keeps the sums if the whole has grown by a
// 32nd. Other threads go on meanwhile: a slab that they change is off by that. Reads 64 bytes for each 64
// KiB. Not thread-safe.
void publish_holdings() noexcept;

// A line on stderr for each part of the largest sums.
void print_most_held() noexcept;

}  // namespace heapwright::heap
