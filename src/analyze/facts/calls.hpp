// SPDX-License-Identifier: MIT
// Calls by entry point, and by requested size.
#pragma once

#include <cstdint>

#include "analyze/facts/latency.hpp"
#include "trace/event.hpp"

namespace heapwright::analyze {

// One entry point that was called: malloc, operator new[], ...
struct ByKind {
  trace::EventKind kind = trace::EventKind::none;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;  // successful allocations and mappings; else 0
  Latency latency;
};

// One power-of-two class of requested sizes, both ends included.
struct BySizeClass {
  std::uint64_t from_bytes = 0;
  std::uint64_t to_bytes = 0;
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t overhead_bytes = 0;  // usable - requested
  std::uint64_t live_at_peak_blocks = 0;
  std::uint64_t live_at_peak_bytes = 0;
  Latency allocation_latency;
  Latency release_latency;  // releases of blocks of this class
};

// A frequently requested size.
struct CommonSize {
  std::uint64_t size_bytes = 0;
  std::uint64_t allocations = 0;
};

// One of the slowest calls.
struct SlowCall {
  std::uint64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  trace::EventKind kind = trace::EventKind::none;
  std::uint32_t thread = 0;
  std::uint32_t stack = 0;       // allocation: of the call; release: of the call when
                                 // recorded, otherwise of the block's allocation
  std::uint64_t size_bytes = 0;  // of the block
  // For calls of at least 20 us:
  std::uint8_t cause = 0;  // SlowCause
  std::uint8_t work = 0;   // the main part of its time on a processor; SlowCause
  std::uint32_t faults = 0;
  std::uint64_t fault_ns = 0;
  std::uint64_t waited_ns = 0;
  std::uint64_t preempted_ns = 0;
  std::uint32_t mappings = 0;
  std::uint64_t mapped_bytes = 0;
  std::uint64_t small_frees = 0;        // consolidation: small blocks freed since the last one, approximately
  std::uint32_t small_frees_stack = 0;  // where most of them were allocated, if one site allocated most
  std::uint32_t block_stack = 0;        // release: of the block's allocation; 0: unknown
};

}  // namespace heapwright::analyze
