// SPDX-License-Identifier: MIT
// Whether the recording is complete, and if not, why.
#pragma once

#include <vector>

#include "analyze/facts/coverage.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

// `skipped`: chunks that could not be decoded, in addition to the source's damage.
Completeness completeness_of(const order::Source& source, const std::vector<trace::Damage>& skipped);

}  // namespace heapwright::analyze
