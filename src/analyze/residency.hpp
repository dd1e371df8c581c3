// SPDX-License-Identifier: MIT
// Joins scans of the resident pages with the blocks that lived when each page
// was looked at.
//
// All scans would take too long, so three kinds are joined: the one with the most
// resident memory, the last one, and those at which a tenth more was live than
// at any joined before. The live blocks are copied where a scan begins; what
// rows change while it goes on is kept beside them.
#pragma once

#include <cstdint>
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
  // Rows that come next, before anything changes them; only while a scan is open.
  bool is_open() const noexcept { return is_open_; }
  void add(const order::Run<Piece>& run);
  // After the last row, when every border is passed. `held`: by any block of the recording.
  void finish(const HeldPages& held, Facts& facts);

 private:
  void begin(const Blocks& blocks, const Mappings& mappings, std::uint64_t live_bytes);
  void go_to_next() noexcept;
  bool is_worth(std::size_t scan, std::uint64_t live_bytes) const noexcept;
  void close();

  const order::Source& source_;
  const Scope& scope_;
  std::vector<std::size_t> scans_;  // that may be joined, of the source's
  std::size_t at_ = 0;              // the next of them
  std::size_t largest_ = SIZE_MAX;  // of the source's
  std::size_t last_ = SIZE_MAX;
  std::uint64_t next_ns_ = UINT64_MAX;
  bool is_open_ = false;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t most_live_bytes_ = 0;
  BlocksOverTime blocks_;
  std::vector<OwnRange> own_ranges_;
  std::vector<ResidentPages> joined_;
};

}  // namespace heapwright::analyze
