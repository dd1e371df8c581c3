// SPDX-License-Identifier: MIT
// Joins scans of the resident pages with the blocks that lived when each page
// was looked at.
//
// All scans would take too long, so few are joined: the one with the most
// resident memory, the last one, the two around a time that is asked for, and
// within a tenth the ones with the most live bytes and with the most that is not
// live. The live blocks are copied where a scan begins; what rows change while
// it goes on is kept beside them. There is one copy at a time. A scan that is
// worth it for its bytes alone is joined when the copy's place is needed, unless
// one with more of them needs it: a heap that grows is copied many times, and
// sorted once. With Scope::wants_activity others are joined for the picture alone,
// spread over the recording, as far as the copies stay affordable.
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
#include "analyze/resident_pages.hpp"
#include "analyze/row.hpp"
#include "analyze/scope.hpp"
#include "analyze/touched_pages.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

class ResidencyJoin {
 public:
  // Does nothing for traces of samples: they do not have every block.
  ResidencyJoin(const order::Source& source, const Scope& scope);

  // Rows from this time on must not be added before pass() was called: there a
  // scan begins, or ends. UINT64_MAX: there is none.
  std::uint64_t next_ns() const noexcept { return next_ns_; }
  void pass(const Blocks& blocks, const Mappings& mappings, std::uint64_t live_bytes);
  // Rows that come next, before anything changes them or the blocks; not asked for otherwise.
  bool wants_rows() const noexcept { return is_open_ || touched_.is_wanted(); }
  void add(const order::Run<Piece>& run, const Blocks& blocks);
  // After the last row, when every border is passed. `held`: by any block of the recording;
  // `large`: by one of the C library's arenas with 128 KiB or more.
  void finish(const HeldPages& held, const HeldPages& large, Facts& facts);

 private:
  // What a scan is chosen by.
  struct Worth {
    std::uint64_t live_bytes = 0;
    std::uint64_t free_bytes = 0;  // resident and not live; what is no heap is among it
  };
  struct Joined {
    ResidentPages pages;
    std::size_t scan = 0;
    Worth worth;
    bool is_told = true;  // otherwise only drawn
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
  std::vector<std::size_t> scans_;  // that may be joined, of the source's
  TouchedPages touched_;
  std::size_t at_ = 0;              // the next of them
  std::size_t largest_ = SIZE_MAX;  // of the source's
  std::size_t last_ = SIZE_MAX;
  std::size_t before_asked_ = SIZE_MAX;
  std::size_t after_asked_ = SIZE_MAX;
  std::uint64_t next_ns_ = UINT64_MAX;
  bool is_open_ = false;
  std::size_t copied_ = SIZE_MAX;  // the scan that blocks_ are of
  Worth copied_worth_;
  // It has the most so far of what it was copied for.
  bool has_most_live_ = false;
  bool has_most_free_ = false;
  Worth most_;
  BlocksOverTime blocks_;
  std::vector<PageRange> untouched_;  // on huge pages, of the copied scan
  std::vector<OwnRange> own_ranges_;
  std::vector<Joined> joined_;
  std::uint64_t cell_bytes_ = 0;  // 0: none are drawn
  std::uint64_t blocks_copied_ = 0;
};

}  // namespace heapwright::analyze
