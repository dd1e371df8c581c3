// SPDX-License-Identifier: MIT
#pragma once

#include "analyze/facts/coverage.hpp"
#include "analyze/facts/processor.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

// The process's CPU time within these spans, interpolated between the samples. from_ns: the begin of the
// selected time; if that is the process's, so is the begin of the first span, not its first call.
Processor processor_of(const order::Source& source, const Coverage& coverage, std::uint64_t from_ns);

}  // namespace heapwright::analyze
