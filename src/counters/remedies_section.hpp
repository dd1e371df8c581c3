// SPDX-License-Identifier: MIT
// What remedies do for the call sites of a process, as other processes read it (docs/counters.md). Fields are
// appended, never moved.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/head.hpp"

namespace heapwright::counters {

inline constexpr std::uint32_t remedies_section_version = 1;
inline constexpr std::size_t most_remedy_rows = 16;

// Of a remedy with a site.
struct RemedyCounters {
  char change[16];
  char site[128];
  Counter made;      // blocks
  Counter reused;    // of these, freed ones that had been kept
  Counter deferred;  // frees
  Counter refused;   // blocks that the program's allocator made for want of memory
  Counter left;      // the same, since the site is left alone
  // Levels, as of looked_ns; the first two without the kept blocks.
  Counter live_blocks;
  Counter live_bytes;
  Counter held_bytes;  // address space of its heap
  Counter looked_ns;   // CLOCK_MONOTONIC; 0: never yet
};

struct RemediesSection {
  std::uint32_t row_count;
  std::uint32_t row_bytes;    // sizeof(RemedyCounters)
  std::uint32_t rows_offset;  // from the start of the page
  std::uint32_t unused;
};

}  // namespace heapwright::counters
