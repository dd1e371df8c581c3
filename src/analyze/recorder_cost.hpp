// SPDX-License-Identifier: MIT
// The recording's own cost to the program.
#pragma once

#include <vector>

#include "analyze/facts/totals.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

struct ByKind;

RecorderCost recorder_cost_of(const order::Source& source, const std::vector<ByKind>& calls);

}  // namespace heapwright::analyze
