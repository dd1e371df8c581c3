// SPDX-License-Identifier: MIT
// The program's own mappings: which stack mapped what, how much of it was
// unmapped or given back, what stays, and what of that is only reserved. A
// mapping over another one ends the other's part there. Memory: the ranges that
// are mapped or were protected apart, and the stacks that mapped.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyze/page_owners.hpp"
#include "analyze/sites.hpp"
#include "trace/event_kind.hpp"

namespace heapwright::analyze {

struct MappingRow;
struct MappingSite;

class Mappings {
 public:
  // One call of trace::changes_mappings(kind), or sbrk. Lengths are rounded up to pages, as the
  // kernel does; ranges that reach beyond the address space end there. What a
  // call does to a range counts for the stack that mapped it. `is_chosen`:
  // whether what is mapped by it is counted.
  void change(trace::EventKind kind, const MappingRow& row, std::uint32_t stack, bool is_chosen);
  // What is mapped, by address.
  std::vector<OwnRange> ranges() const;
  // Counts from zero; what is mapped stays mapped.
  void begin_window() { sums_.clear(); }
  // Most bytes first.
  std::vector<MappingSite> finish(const SiteMap& sites) const;

 private:
  struct Range {
    std::uint64_t end;
    std::uint32_t stack;
    bool is_chosen;
    bool is_reserved;  // nobody may read or write it
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by begin; they do not overlap
  struct Sums {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    std::uint64_t of_files_bytes = 0;
    std::uint64_t unmapped_bytes = 0;
    std::uint64_t given_back_bytes = 0;
  };

  void map(std::uint64_t begin, std::uint64_t end, Range range, bool is_of_file);
  void remove(std::uint64_t begin, std::uint64_t end);
  void protect(std::uint64_t begin, std::uint64_t end, bool is_reserved);
  void give_back(std::uint64_t begin, std::uint64_t end);
  // Makes `at` a border between ranges.
  void cut(std::uint64_t at);

  Ranges ranges_;
  std::unordered_map<std::uint32_t, Sums> sums_;  // by stack
};

}  // namespace heapwright::analyze
