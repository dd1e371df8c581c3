// SPDX-License-Identifier: MIT
// Resident bytes of a range, from a scan of resident pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/residency.hpp"

namespace heapwright::replay {

// Bytes of [begin, end) in anonymous runs that were resident or swapped out. Runs and queried ranges are in
// rising order: `first` moves along.
inline std::uint64_t resident_in(const std::vector<trace::PageRun>& runs, std::size_t& first,
                                 std::uint64_t begin, std::uint64_t end) {
  while (first < runs.size() && runs[first].end <= begin) ++first;
  std::uint64_t bytes = 0;
  for (auto at = first; at < runs.size() && runs[at].begin < end; ++at) {
    if (runs[at].kind == trace::PageKind::file) continue;
    bytes += std::min(end, runs[at].end) - std::max(begin, runs[at].begin);
  }
  return bytes;
}

}  // namespace heapwright::replay
