// SPDX-License-Identifier: MIT
// The blocks that are live at the end of what a trace has, and the memory that the program mapped itself.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/heap_graph.hpp"
#include "trace/reader.hpp"

namespace heapwright::collect {

struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Memory that the program mapped itself, and by which call.
struct OwnMapping {
  AddressRange range;
  std::uint32_t stack = 0;
};

struct LiveHeap {
  std::vector<trace::GraphNode> blocks;  // by address
  std::vector<std::uint64_t> usable;     // by block
  std::vector<std::uint32_t> young;      // blocks, whose call returned at young_since_ns or later
  std::vector<AddressRange> ended;       // that blocks had which were freed since then, in any order
  std::vector<OwnMapping> own_mappings;  // by address, disjoint
  AddressRange sampled_set;              // of the recorder, whose pointers hold nothing
  bool has_every_block = true;           // false: others may be live as well
};

struct LiveHeapWish {
  std::uint64_t young_since_ns = UINT64_MAX;
  std::uint64_t ended_since_ns = UINT64_MAX;
};

// Throws TraceError when the trace is damaged.
LiveHeap live_heap_of(const trace::Reader& trace, const LiveHeapWish& wish);

}  // namespace heapwright::collect
