// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::analyze {

struct PipelineLimits {
  // Decoded rows that the merge may hold; beyond this, chunks are decoded slice by slice, several times over.
  std::uint64_t merge_bytes = std::uint64_t{256} << 20;
  // Decoding threads besides the caller's; UINT32_MAX: as many as are useful.
  std::uint32_t workers = UINT32_MAX;
  // With this number of pieces decoded ahead, the decoding threads count the releases.
  std::uint32_t pieces_to_leave_releases = 16;
  // Counters in the histograms by site, per decoding thread and kind (sizes, durations): 192 MB.
  std::size_t histogram_counts = std::size_t{48} << 20;
};

}  // namespace heapwright::analyze
