// SPDX-License-Identifier: MIT
// The big tables (one row per call, one row per block) as Arrow batches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "python_module/arrow_stream.hpp"
#include "trace/reader.hpp"

namespace heapwright::python_module {

// site_of_stack as in analyze::Options; a stack beyond its end is its own site.
using SiteOfStack = std::shared_ptr<const std::vector<std::uint32_t>>;

std::unique_ptr<BatchSource> event_source(std::shared_ptr<const trace::Reader> reader,
                                          SiteOfStack site_of_stack);
std::unique_ptr<BatchSource> block_source(std::shared_ptr<const trace::Reader> reader,
                                          SiteOfStack site_of_stack);

}  // namespace heapwright::python_module
