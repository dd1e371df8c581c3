// SPDX-License-Identifier: MIT
// Joins page faults on pages that had faulted before with the blocks on these pages: which call had freed the
// block there, and which one took the page again.
//
// A page with a live block is not given back. So a fault counts as the heap's only if the last block on its
// page was freed since the page's last such fault, and if a block takes it; others come from fork (a page
// that is copied when one of its blocks is written to or freed), from files (also from those mapped one after
// the other at one place), or are not known. The block that took a page is the next one there, if the page
// was free when it faulted: the allocator itself writes headers. For blocks below a page only the page of
// their first byte is looked at. After a malloc_trim no free page is left: whatever a free gave back before,
// settings do not keep.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyze/blocks.hpp"
#include "analyze/facts/processor.hpp"
#include "analyze/row.hpp"
#include "analyze/scope.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

struct Facts;

class RefaultJoin {
 public:
  // Does nothing for sampled traces: they do not have every block.
  RefaultJoin(const order::Source& source, const Scope& scope);

  bool wants_rows() const noexcept { return !ranges_.empty(); }
  // The next rows, before anything changes them.
  void add(const order::Run<Piece>& run);
  // Called after the last row. Adds to facts.processor.
  void finish(Facts& facts);

 private:
  // Pages with refaults: [begin, end), whose states begin at `state`.
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t state = 0;
  };
  struct State {
    std::uint32_t stack = 0;       // of the latest block, or mapping
    std::uint32_t free_stack = 0;  // of the latest release
    std::uint32_t freed_stack = 0;
    std::uint32_t blocks = 0;  // live ones
    std::uint32_t trims = 0;   // calls of malloc_trim before the latest release
    std::uint8_t given_back_by = 0;
    bool is_free = false;    // the latest was a release
    bool was_freed = false;  // the last live block was released since the last refault
    bool is_file = false;    // of a file that is mapped there: the kernel keeps its pages
  };
  struct Sum {
    std::uint64_t faults = 0;
    std::uint64_t fault_ns = 0;
    std::uint64_t times = 0;
  };
  struct Large {
    std::uint64_t bytes = 0;
    std::uint32_t stack = 0;
  };
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint8_t>;

  void make_ranges();
  template <class Visit>
  void for_pages(std::uint64_t address, std::uint64_t bytes, const Visit& visit);
  void add_mapping(const Row& row, const MappingRow& mapping);
  void acquire(std::uint64_t address, std::uint64_t bytes, std::uint32_t stack);
  void release(const Row& row);
  void give_back(std::uint64_t address, std::uint64_t bytes, const State& by);
  void join(const trace::RefaultRun& run);
  void count(const State& state, std::uint32_t stack, const Sum& sum);

  const Scope& scope_;
  std::vector<trace::RefaultRun> runs_;  // by time
  std::size_t next_ = 0;
  std::vector<Range> ranges_;  // by address, disjoint
  std::size_t last_range_ = 0;
  std::vector<State> states_;
  std::unordered_map<std::uint64_t, Large> large_;  // live blocks longer than a page, by address
  std::unordered_map<std::size_t, Sum> waiting_;    // by state: for the block that took the page
  std::map<Key, Sum> sums_;
  std::uint32_t trims_ = 0;       // calls of malloc_trim until now
  std::uint32_t trim_stack_ = 0;  // of the latest
};

}  // namespace heapwright::analyze
