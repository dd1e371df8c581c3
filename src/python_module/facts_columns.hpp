// SPDX-License-Identifier: MIT
// Facts as columns: the one list of fields that cross to Python, by the
// names of facts.hpp. Every value crosses as an unsigned 64-bit number; a
// nested struct's fields are prefixed ("latency.p50_ns").
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyze/facts.hpp"

namespace heapwright::python_module {

struct NumberColumn {
  std::string name;
  std::vector<std::uint64_t> values;
};
using NumberTable = std::vector<NumberColumn>;

// Tables: totals, peak, allocation_latency, release_latency, recorder (one
// row each); by_kind, by_size, common_sizes, sites, site_latency, stacks,
// threads, cross_thread, realloc_chains, mappings, slowest, timeline. Throws
// std::out_of_range for any other name.
NumberTable facts_table(const analyze::Facts& facts, const std::string& name);

}  // namespace heapwright::python_module
