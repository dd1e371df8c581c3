// SPDX-License-Identifier: MIT
// Finds pages that are resident only because their huge page is. The kernel fills a huge page as a whole:
// when one byte of it is touched, or when it merges small pages. Such a page has held no block since a scan
// last found it absent, or since the recording began.
//
// Takes the rows of all blocks, in order of time, with the scans in between. Does nothing if none of a few
// sampled scans has a huge page. If scans have many runs, only some scans are used: a page that was absent
// only in the others counts as touched, and is not reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/blocks.hpp"
#include "analyze/held_pages.hpp"
#include "analyze/row.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

struct PageRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class TouchedPages {
 public:
  // scans: indices of the source's scans still to come. Both must outlive it. most_runs: approximate limit
  // over all used scans.
  TouchedPages(const order::Source& source, const std::vector<std::size_t>& scans,
               std::uint64_t most_runs = std::uint64_t{16} << 20);

  bool is_wanted() const noexcept { return is_wanted_; }
  // The next rows, before they change `blocks`.
  void add(const order::Run<Piece>& run, const Blocks& blocks);
  // A scan begins: pages it finds absent count as untouched from now on. is_asked: this scan is requested.
  void look_at(std::size_t scan, bool is_asked);
  // For the last used scan, by the rows added since: parts of huge pages, by address.
  std::vector<PageRange> untouched() const;

 private:
  const order::Source& source_;
  bool is_wanted_ = false;
  std::uint64_t stride_ = 1;  // for scans that are not requested
  std::uint64_t passed_ = 0;
  HeldPages touched_;
  std::vector<PageRange> huge_;  // of the last scan
};

}  // namespace heapwright::analyze
