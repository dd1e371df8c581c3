// SPDX-License-Identifier: MIT
// The last step of analysing a sampled trace: converts sums of weights in units (SamplingWeight) to numbers
// of calls and bytes.
#pragma once

#include <cstdint>

#include "analyze/facts.hpp"

namespace heapwright::analyze {

// Divides every figure that was added up with weights, to the nearest whole.
void divide_weights(std::uint64_t unit, Facts& facts);

}  // namespace heapwright::analyze
