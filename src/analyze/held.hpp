// SPDX-License-Identifier: MIT
// Says who holds which blocks, and which are lost, from a trace's snapshot.
#pragma once

#include <cstdint>

#include "analyze/facts/held.hpp"
#include "trace/heap_graph.hpp"
#include "trace/reader.hpp"

namespace heapwright::analyze {

Held held_in(const trace::HeapGraph& graph);

// Of the snapshot of that time. Throws TraceError if it is damaged.
Held held_of(const trace::Reader& reader, std::uint64_t time_ns);

}  // namespace heapwright::analyze
