// SPDX-License-Identifier: MIT
// Resident memory by the names of mappings, at some of a recording's scans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/facts/mapped_memory.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

// For at most `most_scans` (1 or more) scans that begin in [from_ns, to_ns): the last one, and others spread
// evenly. Sorted by scan, then name. Damaged scans are skipped. Memory: one scan. Complexity: runs + mappings
// of each scan that is read, times log(names).
std::vector<MappedMemory> mapped_memory_of(const order::Source& source, std::uint64_t from_ns,
                                           std::uint64_t to_ns, std::size_t most_scans);
std::vector<MappedMemory> mapped_memory_of(const trace::Reader& reader, std::uint64_t from_ns,
                                           std::uint64_t to_ns, std::size_t most_scans);

}  // namespace heapwright::analyze
