// SPDX-License-Identifier: MIT
// Finds which blocks a process has pointers to, and where. Nothing else of its memory is kept.
#pragma once

#include "collect/live_heap.hpp"
#include "collect/process_image.hpp"
#include "trace/heap_graph.hpp"

namespace heapwright::collect {

struct SnapshotOf {
  const ProcessImage& image;
  LiveHeap& heap;         // its blocks become those of the graph
  bool is_glibc = false;  // its allocator, whose own pointers to chunks are not holders
};

// Throws std::runtime_error, with one line, if it has more than a trace can hold.
trace::HeapGraph snapshot_of(const SnapshotOf& of);

}  // namespace heapwright::collect
