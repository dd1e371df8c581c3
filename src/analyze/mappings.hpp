// SPDX-License-Identifier: MIT
// The program's own mappings: which stack mapped what, how much of it was unmapped or discarded, what
// remains, and how much of that is only reserved. A new mapping over an old one ends that part of the old
// one. Memory: the ranges that are mapped or have different protection, and the stacks that mapped.
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
  // One call of trace::changes_mappings(kind), or sbrk. Lengths are rounded up to pages, as the kernel does;
  // ranges are clipped at the end of the address space. The effect of a call on a range counts for the stack
  // that mapped it. `is_chosen`: whether what the call maps is counted.
  void change(trace::EventKind kind, const MappingRow& row, std::uint32_t stack, bool is_chosen);
  // The mapped ranges, by address.
  std::vector<OwnRange> ranges() const;
  // Resets the counts; mappings stay mapped.
  void begin_window() { sums_.clear(); }
  // Most bytes first.
  std::vector<MappingSite> finish(const SiteMap& sites) const;

 private:
  struct Range {
    std::uint64_t end;
    std::uint32_t stack;
    bool is_chosen;
    bool is_reserved;  // not accessible
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
  // Splits the range at `at`.
  void cut(std::uint64_t at);

  Ranges ranges_;
  std::unordered_map<std::uint32_t, Sums> sums_;  // by stack
};

}  // namespace heapwright::analyze
