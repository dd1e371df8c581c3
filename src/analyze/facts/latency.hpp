// SPDX-License-Identifier: MIT
// Call durations.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// Latency of the real calls. Percentiles are interpolated within a bucket (error at most 6.25 %); max and sum
// are exact.
struct Latency {
  std::uint64_t calls = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t max_ns = 0;
  std::uint64_t p50_ns = 0;
  std::uint64_t p90_ns = 0;
  std::uint64_t p99_ns = 0;
  std::uint64_t p999_ns = 0;
  std::uint64_t p9999_ns = 0;
};

}  // namespace heapwright::analyze
