// SPDX-License-Identifier: MIT
// Whether the recording is complete, and if not, why.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/facts/coverage.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

// `skipped`: chunks that could not be decoded, in addition to the source's damage; `skipped_events`: in them.
Completeness completeness_of(const order::Source& source, std::vector<trace::Damage> skipped,
                             std::uint64_t skipped_events);

}  // namespace heapwright::analyze
