// SPDX-License-Identifier: MIT
// The parts of a heap at one scan: the free memory in each, and whose blocks are above it. The C library
// trims a part only at its end, so the last blocks decide what stays.
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
  bool is_mapped = false;        // of a block with its own mapping
};

enum class PartKind : std::uint8_t { main_heap, arena, mapped_blocks, heap };

const char* name_of(PartKind kind) noexcept;

class HeapParts {
 public:
  // `sites` must outlive it.
  HeapParts(const std::vector<trace::Mapping>& mappings, const SiteMap& sites, bool is_glibc);

  bool is_mapped(const LiveBlock& block) const noexcept;
  // Windows in order of address. `blocks`: those that begin in the window; both arguments are sorted by
  // address.
  void add_window(std::span<const PageUse> uses, std::span<const LiveBlock> blocks);
  // Pages without a block that were added before: their final classification.
  struct Empty {
    std::uint64_t free_bytes = 0;
    std::uint64_t large_bytes = 0;
    std::uint64_t allocator_bytes = 0;
    std::uint64_t gap_bytes = 0;  // between the surrounding live blocks, resident or not
  };
  void settle_empty(std::uint64_t address, const Empty& empty);
  // By site: free bytes below its blocks and above those of all others, in heaps that are trimmed at their
  // end.
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
    std::uint64_t free_below = 0;  // up to the end of the page of its last block
  };
  struct Part {
    PartKind kind = PartKind::heap;
    HeapPart sums;
    std::uint64_t free_bytes = 0;  // resident and unused, in order of address
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
