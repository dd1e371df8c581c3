// SPDX-License-Identifier: MIT
#include "analyze/histogram.hpp"

#include "analyze/facts.hpp"

namespace heapwright::analyze {

std::size_t Histogram::bucket_of(std::uint64_t value) noexcept { return analyze::bucket_of(value); }

std::uint64_t Histogram::lower_bound_of(std::size_t bucket) noexcept {
  return analyze::lower_bound_of(bucket);
}

}  // namespace heapwright::analyze
