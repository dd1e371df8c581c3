// SPDX-License-Identifier: MIT
// What each site held over time: a copy of its live blocks at the end of equal bins. Costs nothing between
// bin ends.
//
// A site gets a row when it first holds something at the end of a bin. There are at most most_rows: beyond
// that, a site whose live bytes exceed the most that the smallest row ever held takes over that row, and its
// series begins there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/facts/series.hpp"
#include "analyze/sites.hpp"
#include "analyze/timeline.hpp"

namespace heapwright::analyze {

struct Facts;

// A block that is being reallocated at the end of a bin: its site still holds the old one.
struct SiteTransit {
  std::uint32_t site = 0;
  std::uint64_t bytes = 0;
  std::uint64_t usable_bytes = 0;
  std::uint64_t blocks = 0;
};
using SiteTransits = std::vector<SiteTransit>;

// Not thread-safe. Memory: at most rows x bins x 24 bytes (6 MiB) and 4 bytes per site.
class SiteSeries {
 public:
  static constexpr std::uint32_t most_bins = 256;
  static constexpr std::size_t most_rows = 1024;

  // A bin is one step of the timeline, or several if there are more than most_bins steps.
  SiteSeries(const TimeSteps& steps, std::size_t sites, std::size_t rows = most_rows);

  // Copies the present live state into every bin that ends with one of the first `closed_steps` of the
  // timeline. Complexity: O(sites) for each such bin.
  void close_steps(std::size_t closed_steps, const SiteLives& lives, const SiteTransits& transits = {});
  // Closes the remaining bins and fills the facts' series.
  void finish(const SiteLives& lives, Facts& facts);

 private:
  static constexpr std::uint32_t no_row = UINT32_MAX;

  struct Row {
    std::uint32_t site = 0;
    std::uint32_t first_bin = 0;
    std::uint64_t largest_bytes = 0;
    std::vector<SiteMoment> moments;  // from first_bin; the most recent one where it ended
  };
  struct Newcomer {
    std::uint32_t site;
    std::uint64_t bytes;
  };

  void close_bin(const SiteLives& lives, const SiteTransits& transits);
  std::vector<std::uint32_t> rows_smallest_first() const;
  void begin_rows(std::vector<Newcomer>& newcomers, const SiteLives& lives);
  void begin_row(Row& row, std::uint32_t site);
  void put(Row& row, const SiteMoment& moment) const;

  const TimeSteps& steps_;
  std::size_t rows_limit_;
  std::uint32_t steps_per_bin_;
  std::uint32_t bins_;
  std::uint32_t closed_ = 0;
  std::vector<std::uint32_t> row_of_site_;
  std::vector<Row> rows_;
};

}  // namespace heapwright::analyze
