// SPDX-License-Identifier: MIT
// The program's own mappings: which stack mapped what, how much of it was
// unmapped again, what stays. A mapping over another one ends the other's part
// there. Memory: the ranges that are mapped, and the stacks that mapped.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyze/page_owners.hpp"
#include "analyze/sites.hpp"

namespace heapwright::analyze {

struct MappingSite;

class Mappings {
 public:
  // Lengths are rounded up to pages, as the kernel does; ranges that reach
  // beyond the address space end there. `is_chosen`: whether it is counted.
  void map(std::uint64_t address, std::uint64_t bytes, std::uint32_t stack, bool is_chosen);
  // Counts for the stacks that mapped what lies there.
  void unmap(std::uint64_t address, std::uint64_t bytes);
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
  };
  struct Sums {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    std::uint64_t unmapped_bytes = 0;
  };

  void remove(std::uint64_t begin, std::uint64_t end);

  std::map<std::uint64_t, Range> ranges_;         // by begin; they do not overlap
  std::unordered_map<std::uint32_t, Sums> sums_;  // by stack
};

}  // namespace heapwright::analyze
