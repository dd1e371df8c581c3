// SPDX-License-Identifier: MIT
// Whether the recording is complete, and if not, why.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/facts/coverage.hpp"
#include "analyze/facts/mappings.hpp"
#include "analyze/facts/totals.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

// `skipped`: chunks that could not be decoded, in addition to the source's damage; `skipped_events`: in them.
Completeness completeness_of(const order::Source& source, std::vector<trace::Damage> skipped,
                             std::uint64_t skipped_events);

// What can only be if calls are missing.
void add_contradictions(const Totals& totals, Completeness& completeness);
// Much memory that the program mapped itself, beside few blocks: where no known runtime keeps objects of its
// own, an allocator does whose calls are not seen.
void add_own_memory(const order::Source& source, const std::vector<MappingSite>& mappings, const Peak& peak,
                    Completeness& completeness);

}  // namespace heapwright::analyze
