// SPDX-License-Identifier: MIT
// Pages that are in memory only because their huge page is. The kernel fills a
// huge page as a whole: when one byte of it is touched, or when it makes one of
// small pages. Such a page has held no block since a scan last found it absent,
// or since the recording began.
//
// Takes the rows of all blocks, in order of time, with the scans in between.
// Does nothing where none of a few scans has a huge page. Where scans have many
// runs, only some are looked at: a page that was absent in the others alone
// counts as touched, so nothing is said of it.
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
  // scans: numbers of the source's, those to come. Both must outlive it.
  // most_runs: of all scans that are looked at, about.
  TouchedPages(const order::Source& source, const std::vector<std::size_t>& scans,
               std::uint64_t most_runs = std::uint64_t{16} << 20);

  bool is_wanted() const noexcept { return is_wanted_; }
  // The next rows, before `blocks` has changed by them.
  void add(const order::Run<Piece>& run, const Blocks& blocks);
  // A scan begins: what it finds absent is untouched from now on. is_asked: about this one.
  void look_at(std::size_t scan, bool is_asked);
  // Of the last scan looked at, by what was added since: huge pages' parts, by address.
  std::vector<PageRange> untouched() const;

 private:
  const order::Source& source_;
  bool is_wanted_ = false;
  std::uint64_t stride_ = 1;  // of scans that are not asked about
  std::uint64_t passed_ = 0;
  HeldPages touched_;
  std::vector<PageRange> huge_;  // of the last scan
};

}  // namespace heapwright::analyze
