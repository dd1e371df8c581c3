// SPDX-License-Identifier: MIT
// Names of code made at run time, from the dump that a language's runtime writes for perf: a header, and a
// record with the place, name and bytes of each piece of code (docs/decisions/0072-jit-dumps.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "collect/perf_map.hpp"

namespace heapwright::collect {

// Larger numbers are of no runtime's file.
constexpr std::size_t most_dump_records = 1U << 22U;

// Names in `map` what the open file has of the process with this number, as it knows itself. Records that are
// half written, or do not make sense, end it. False: it is no dump of that process for this machine.
bool read_jit_dump(int file, std::uint32_t process_id, PerfMap& map);

}  // namespace heapwright::collect
