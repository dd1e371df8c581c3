// SPDX-License-Identifier: MIT
// Reads which blocks a stopped process has pointers to, and where. Nothing else of its memory is kept.
#pragma once

#include <string>

#include "collect/live_heap.hpp"
#include "collect/page_map.hpp"
#include "trace/heap_graph.hpp"
#include "tracee/stopped_process.hpp"

namespace heapwright::collect {

struct SnapshotOf {
  const tracee::StoppedProcess& process;
  std::string folder;  // in /proc
  const LiveHeap& heap;
  bool is_glibc = false;  // its allocator, whose own pointers to chunks are not holders
};

// Throws std::runtime_error, with one line, if the process cannot be read, or has more than a trace can hold.
trace::HeapGraph snapshot_of(const SnapshotOf& of);

}  // namespace heapwright::collect
