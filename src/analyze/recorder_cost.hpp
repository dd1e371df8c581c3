// SPDX-License-Identifier: MIT
// What the recording itself cost the program.
#pragma once

#include "analyze/facts.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

// Takes the numbers of calls from facts.by_kind.
RecorderCost recorder_cost_of(const order::Source& source, const Facts& facts);

}  // namespace heapwright::analyze
