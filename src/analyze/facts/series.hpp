// SPDX-License-Identifier: MIT
// Facts by site and time.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// A site whose series is known: from first_bin on; 0 = all of it.
struct SeriesRow {
  std::uint32_t site = 0;
  std::uint32_t first_bin = 0;
};

// What a site held at one moment.
struct SiteMoment {
  std::uint64_t live_bytes = 0;
  std::uint64_t live_usable_bytes = 0;
  std::uint64_t live_blocks = 0;
};

}  // namespace heapwright::analyze
