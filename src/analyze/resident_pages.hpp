// SPDX-License-Identifier: MIT
// One scan, page by page, with the blocks that were live when each page was scanned.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyze/blocks_over_time.hpp"
#include "analyze/facts/residency.hpp"
#include "analyze/heap_parts.hpp"
#include "analyze/held_pages.hpp"
#include "analyze/page_cells.hpp"
#include "analyze/page_owners.hpp"
#include "analyze/pins.hpp"
#include "analyze/sites.hpp"
#include "analyze/touched_pages.hpp"
#include "trace/residency.hpp"

namespace heapwright::analyze {

class ResidentPages {
 public:
  // Complexity: windows x log(changes) + pages + live blocks. `sites` must outlive it. cell_bytes: see
  // PageCells.
  ResidentPages(const trace::ResidencyScan& scan, PageOwners page_owners, const BlocksOverTime& blocks,
                const SiteMap& sites, bool is_glibc, std::uint64_t cell_bytes = 0);

  struct Owner {
    OwnerKind kind;
    std::string_view name;  // valid as long as this object is
    std::uint32_t site;
    std::uint64_t anonymous_bytes;
    std::uint64_t file_bytes;
  };

  Residency facts;  // finish() fills in the rest
  // Filled by finish(), most bytes first.
  std::vector<Owner> owners;
  std::vector<PinSite> pins;
  std::vector<PinAge> pin_ages;  // of pins, in their order
  std::vector<PinSet> pin_sets;
  std::vector<std::uint64_t> pin_set_sites;
  std::vector<UntouchedSite> untouched;
  PageCells cells;

  // By address; must be set before finish().
  std::vector<PageRange> untouched_huge;

  std::vector<HeapParts::Row> parts;

  // Only at the end is it known which pages ever held a block. `large`: pages of blocks of 128 KiB or more.
  void finish(const HeldPages& held, const HeldPages& large);
  // Those that mapped a range with a live block: a heap, or a pool in one.
  std::set<std::uint32_t> stacks_with_blocks() const;

 private:
  // Anonymous pages without a live block.
  struct EmptyRun {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    PageOwner owner;
    // The part of its mapping without live blocks, in whole pages.
    std::uint64_t gap_begin = 0;
    std::uint64_t gap_end = UINT64_MAX;
  };
  void add_window(const trace::ResidencyScan& scan, const trace::ScanWindow& window,
                  const BlocksOverTime& blocks);
  void add_blocks(const trace::ScanWindow& window);
  void add_anonymous(const trace::PageRun& run);
  // Adds the bytes of live blocks on the page; zero if there are none.
  PageUse page_use(std::uint64_t page);
  void add_empty(std::uint64_t begin, std::uint64_t end);
  void add_gaps(std::size_t first_empty);
  void add_file(const trace::PageRun& run);
  void add_owned(const PageOwner& owner, std::uint64_t anonymous_bytes, std::uint64_t file_bytes);
  void settle_empty(const EmptyRun& run, bool is_of_heap, const HeldPages& held, const HeldPages& large);
  bool is_of_heap(const EmptyRun& run, const HeldPages& held);
  // Whether pages of the run that once held a block are free heap pages.
  bool may_be_free(const EmptyRun& run) const;
  void finish_untouched();

  PageOwners owners_;
  const SiteMap* sites_;
  std::vector<EmptyRun> empty_;
  std::size_t first_open_ = 0;  // index into empty_: no live block was seen above it yet
  std::uint64_t last_live_end_ = 0;
  std::map<std::tuple<OwnerKind, std::string_view, std::uint32_t>, Owner> rows_;
  Pins pins_;
  // By site; untouched_bytes: temporarily the touched ones.
  std::unordered_map<std::uint32_t, UntouchedSite> large_;
  HeapParts heap_parts_;
  std::map<std::uint64_t, bool> has_held_;             // by the begin of a mapping; asked once
  std::unordered_set<std::uint64_t> own_with_blocks_;  // begins of the program's ranges
  std::vector<LiveBlock> live_;                        // of the current window
  std::vector<PageUse> uses_;                          // the same
  std::size_t next_live_ = 0;
  std::uint64_t resident_requested_ = 0;
  std::uint64_t scanned_at_ns_ = 0;  // time of the current window
};

}  // namespace heapwright::analyze
