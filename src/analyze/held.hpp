// SPDX-License-Identifier: MIT
// Says who holds which blocks, and which are lost, from a trace's snapshot.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/facts/held.hpp"
#include "trace/heap_graph.hpp"
#include "trace/reader.hpp"

namespace heapwright::analyze {

// Pointers on stacks and in registers hold only what nothing else does: they are gone in a moment, and would
// make every block in use one of several holders.
Held held_in(const trace::HeapGraph& graph);

// Of the snapshot of that time. Throws TraceError if it is damaged.
Held held_of(const trace::Reader& reader, std::uint64_t time_ns);

// By number: blocks, then roots.
struct GraphSums {
  std::vector<std::uint64_t> dominator;  // the block or root without which it would not be reached; none: own
                                         // number (several roots lead to it) or no_dominator (it is lost)
  std::vector<std::uint64_t> retained_bytes;  // what would go with it, itself included
};
inline constexpr std::uint64_t no_dominator = UINT64_MAX;
GraphSums sums_of(const trace::HeapGraph& graph);

}  // namespace heapwright::analyze
