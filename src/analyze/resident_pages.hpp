// SPDX-License-Identifier: MIT
// One scan, page by page, with the blocks that lived when each was looked at.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyze/blocks_over_time.hpp"
#include "analyze/facts/residency.hpp"
#include "analyze/held_pages.hpp"
#include "analyze/page_owners.hpp"
#include "analyze/sites.hpp"
#include "trace/residency.hpp"

namespace heapwright::analyze {

class ResidentPages {
 public:
  // Takes: windows x log(changes) + pages + live blocks. `sites` must outlive it.
  ResidentPages(const trace::ResidencyScan& scan, PageOwners page_owners, const BlocksOverTime& blocks,
                const SiteMap& sites);

  struct Owner {
    OwnerKind kind;
    std::string_view name;  // valid as long as this object is
    std::uint32_t site;
    std::uint64_t anonymous_bytes;
    std::uint64_t file_bytes;
  };

  Residency facts;  // finish() adds the rest
  // By finish(), most bytes first.
  std::vector<Owner> owners;
  std::vector<PinSite> pins;

  // Which pages ever held a block is known only at the end.
  void finish(const HeldPages& held);

 private:
  // Anonymous pages without a live block.
  struct EmptyRun {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    PageOwner owner;
  };
  struct Pin {
    std::uint64_t blocks = 0;
    std::uint64_t live_bytes = 0;
    std::uint64_t pages = 0;
    std::uint64_t pinned_bytes = 0;
    std::uint64_t held_bytes = 0;
  };
  // The blocks at the upper end of [heap], as far as they are one site's.
  struct Top {
    std::uint32_t site = 0;
    bool has_block = false;
    std::uint64_t begin = 0;      // end of the last block of another site
    std::uint64_t own_bytes = 0;  // usable, of the site above it
    std::uint64_t last_end = 0;   // of the last block
  };

  void add_window(const trace::ResidencyScan& scan, const trace::ScanWindow& window,
                  const BlocksOverTime& blocks);
  void add_blocks(const trace::ScanWindow& window);
  void add_anonymous(const trace::PageRun& run);
  // The bytes of live blocks on the page; false when there are none.
  bool add_page(std::uint64_t page);
  void add_empty(std::uint64_t begin, std::uint64_t end);
  void add_file(const trace::PageRun& run);
  void add_owned(const PageOwner& owner, std::uint64_t anonymous_bytes, std::uint64_t file_bytes);
  void hold_below_top(const trace::ResidencyScan& scan);

  PageOwners owners_;
  const SiteMap* sites_;
  std::vector<EmptyRun> empty_;
  std::map<std::tuple<OwnerKind, std::string_view, std::uint32_t>, Owner> rows_;
  std::unordered_map<std::uint32_t, Pin> pins_;  // by site
  std::uint64_t heap_begin_ = 0;                 // of [heap]
  std::uint64_t heap_end_ = 0;
  Top top_;
  std::vector<LiveBlock> live_;  // of the window at hand
  std::size_t next_live_ = 0;
  std::uint64_t resident_requested_ = 0;
};

}  // namespace heapwright::analyze
