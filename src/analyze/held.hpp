// SPDX-License-Identifier: MIT
// Says who holds which blocks, and which are lost, from a trace's snapshot.
#pragma once

#include "analyze/facts/held.hpp"
#include "trace/heap_graph.hpp"
#include "trace/reader.hpp"

namespace heapwright::analyze {

// Pointers on stacks and in registers hold only what nothing else does: they are gone in a moment, and would
// make every block in use one of several holders.
Held held_in(const trace::HeapGraph& graph);

// Of the last snapshot. Throws TraceError if it is damaged.
Held held_of(const trace::Reader& reader);

}  // namespace heapwright::analyze
