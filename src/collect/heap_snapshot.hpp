// SPDX-License-Identifier: MIT
// Finds which blocks a process has pointers to, and where. Nothing else of its memory is kept.
#pragma once

#include "collect/live_heap.hpp"
#include "collect/process_image.hpp"
#include "trace/heap_graph.hpp"
#include "tracee/stopped_process.hpp"

namespace heapwright::collect {

struct SnapshotOf {
  const ProcessImage& image;
  const tracee::StoppedProcess* process = nullptr;  // needed if the image has no copy of the memory
  const LiveHeap& heap;
  bool is_glibc = false;  // its allocator, whose own pointers to chunks are not holders
};

// Throws std::runtime_error, with one line, if it has more than a trace can hold.
trace::HeapGraph snapshot_of(const SnapshotOf& of);

}  // namespace heapwright::collect
