// SPDX-License-Identifier: MIT
// What lay in memory by the names of mappings, at some of a recording's scans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/facts/mapped_memory.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

// Of at most `most_scans` (1 and more) that begin in [from_ns, to_ns): the last one is among them, the others
// are spread evenly over the scans. By scan, then name. Damaged scans are left out. Memory: one scan.
// Complexity: runs + mappings of each scan that is read, times log(names).
std::vector<MappedMemory> mapped_memory_of(const order::Source& source, std::uint64_t from_ns,
                                           std::uint64_t to_ns, std::size_t most_scans);
std::vector<MappedMemory> mapped_memory_of(const trace::Reader& reader, std::uint64_t from_ns,
                                           std::uint64_t to_ns, std::size_t most_scans);

}  // namespace heapwright::analyze
