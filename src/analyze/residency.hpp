// SPDX-License-Identifier: MIT
// Joins scans of the resident pages with the blocks that were live when each page was scanned.
//
// Joining all scans would take too long, so only a few are joined: the one with the most resident memory, the
// last one, the two around a requested time, and (to within a tenth) the ones with the most live and with the
// most non-live bytes. The live blocks are copied where a scan begins; changes by rows during the scan are
// stored beside the copy. There is one copy at a time. A scan that qualifies only by its bytes is joined when
// its copy must make way, unless for a scan with more of these bytes: a growing heap is copied many times,
// but sorted once. With Scope::wants_activity other scans are joined for the picture only, spread over the
// recording, as long as the copies stay affordable.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "analyze/blocks.hpp"
#include "analyze/blocks_over_time.hpp"
#include "analyze/facts.hpp"
#include "analyze/facts/residency.hpp"
#include "analyze/held_pages.hpp"
#include "analyze/mappings.hpp"
#include "analyze/own_memory.hpp"
#include "analyze/resident_pages.hpp"
#include "analyze/row.hpp"
#include "analyze/scope.hpp"
#include "analyze/touched_pages.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

class ResidencyJoin {
 public:
  // Does nothing for sampled traces: they do not have every block.
  ResidencyJoin(const order::Source& source, const Scope& scope);

  // Rows from this time on must not be added before pass() was called: a scan begins or ends there.
  // UINT64_MAX: there is none.
  std::uint64_t next_ns() const noexcept { return next_ns_; }
  void pass(const Blocks& blocks, const Mappings& mappings, std::uint64_t live_bytes);
  // Whether it needs the next rows, before anything changes them or the blocks.
  bool wants_rows() const noexcept { return is_open_ || touched_.is_wanted(); }
  void add(const order::Run<Piece>& run, const Blocks& blocks);
  // Called after the last row, when every border is passed. `held`: pages of any block of the recording;
  // `large`: pages of blocks of 128 KiB or more in the C library's arenas.
  void finish(const HeldPages& held, const HeldPages& large, Facts& facts);

 private:
  // The criteria for choosing a scan.
  struct Worth {
    std::uint64_t live_bytes = 0;
    std::uint64_t free_bytes = 0;  // resident and not live, including memory that is not heap
  };
  struct Joined {
    ResidentPages pages;
    std::size_t scan = 0;
    Worth worth;
    bool is_reported = true;  // otherwise only for pictures
  };

  void begin(const Blocks& blocks, const Mappings& mappings, std::uint64_t live_bytes);
  void go_to_next() noexcept;
  Worth worth_of(std::size_t scan, std::uint64_t live_bytes) const;
  bool is_worth(std::size_t scan, const Worth& worth) const noexcept;
  bool is_drawn() const noexcept;
  bool is_wanted(std::size_t scan) const noexcept {
    return scan == largest_ || scan == last_ || scan == before_asked_ || scan == after_asked_;
  }
  void close();
  void add_changes(const order::Run<Piece>& run);
  void join();
  void choose();
  using Number = std::function<std::uint32_t(std::string_view)>;  // of a name
  static void add_facts(const ResidentPages& pages, const Number& number_of, Facts& facts);
  static void add_drawn(ResidentPages& pages, const Number& number_of, Facts& facts);

  const order::Source& source_;
  const Scope& scope_;
  std::vector<std::size_t> scans_;  // that may be joined, indices in the source
  TouchedPages touched_;
  OwnMemory own_memory_;
  std::size_t at_ = 0;              // the next of them
  std::size_t largest_ = SIZE_MAX;  // index in the source
  std::size_t last_ = SIZE_MAX;
  std::size_t before_asked_ = SIZE_MAX;
  std::size_t after_asked_ = SIZE_MAX;
  std::uint64_t next_ns_ = UINT64_MAX;
  bool is_open_ = false;
  std::size_t copied_ = SIZE_MAX;  // the scan that blocks_ belongs to
  Worth copied_worth_;
  // The copied scan has the most so far.
  bool has_most_live_ = false;
  bool has_most_free_ = false;
  Worth most_;
  BlocksOverTime blocks_;
  std::vector<PageRange> untouched_;  // on huge pages, of the copied scan
  std::vector<OwnRange> own_ranges_;
  std::vector<Joined> joined_;
  std::uint64_t cell_bytes_ = 0;  // 0: no pictures
  std::uint64_t blocks_copied_ = 0;
};

}  // namespace heapwright::analyze
