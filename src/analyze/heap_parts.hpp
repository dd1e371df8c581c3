// SPDX-License-Identifier: MIT
// The parts of a heap at one scan: what free memory lies where in each, and
// whose blocks lie above it. The C library gives a part back from its end only,
// so which blocks lie last decides what stays.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyze/blocks_over_time.hpp"
#include "analyze/facts/heap_parts.hpp"
#include "analyze/sites.hpp"
#include "trace/residency.hpp"

namespace heapwright::analyze {

// Resident anonymous memory: one page with blocks on it, or several without.
struct PageUse {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t used_bytes = 0;  // usable, of live blocks
  bool is_mapped = false;        // of a block with a mapping of its own
};

enum class PartKind : std::uint8_t { main_heap, arena, mapped_blocks, heap };

const char* name_of(PartKind kind) noexcept;

class HeapParts {
 public:
  // `sites` must outlive it.
  HeapParts(const std::vector<trace::Mapping>& mappings, const SiteMap& sites, bool is_glibc);

  bool is_mapped(const LiveBlock& block) const noexcept;
  // Windows in order of address. `blocks`: those that begin in it; both by address.
  void add_window(std::span<const PageUse> uses, std::span<const LiveBlock> blocks);
  // Of pages without a block that were added before: what of them was known at last.
  struct Empty {
    std::uint64_t free_bytes = 0;
    std::uint64_t large_bytes = 0;
    std::uint64_t allocator_bytes = 0;
    std::uint64_t gap_bytes = 0;  // between the live blocks about it, resident or not
  };
  void settle_empty(std::uint64_t address, const Empty& empty);
  // By site: what lies below its blocks, above those of all others, in heaps given back at their end.
  std::unordered_map<std::uint32_t, std::uint64_t> held_bytes() const;

  struct Row {
    HeapPart part;  // without scan and kind
    PartKind kind;
    std::vector<PartHolder> holders;  // without scan and part
  };
  // Most free bytes first.
  std::vector<Row> finish() const;

 private:
  struct Last {
    std::uint64_t blocks = 0;
    std::uint64_t free_below = 0;  // up to the end of its last block's page
  };
  struct Part {
    PartKind kind = PartKind::heap;
    HeapPart sums;
    std::uint64_t free_bytes = 0;  // resident and not used, in order of address
    std::uint64_t empty_bytes = 0;
    std::uint64_t free_at_last_block = 0;
    std::unordered_map<std::uint32_t, Last> last_of_site;
  };

  Part& part_at(std::uint64_t address, bool is_mapped);
  void add_use(const PageUse& use);
  std::vector<PartHolder> holders_of(const Part& part) const;

  const SiteMap* sites_;
  bool is_glibc_;
  std::uint64_t main_begin_ = 0;
  std::uint64_t main_end_ = 0;
  std::map<std::uint64_t, Part> parts_;  // by key
  std::uint64_t last_key_ = UINT64_MAX;
  Part* last_part_ = nullptr;
};

}  // namespace heapwright::analyze
