// SPDX-License-Identifier: MIT
// An arena's memory statistics.
#ifndef HEAPWRIGHT_DETAIL_ARENA_USAGE_HPP
#define HEAPWRIGHT_DETAIL_ARENA_USAGE_HPP

#include <cstddef>
#include <cstdint>
#include <string>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// used = requested + registry + padding + tail.
struct arena_usage {
  std::size_t requested_bytes;  // since the last reset
  std::size_t registry_bytes;   // destructor notes
  std::size_t padding_bytes;    // lost to alignment
  std::size_t tail_bytes;       // unused at the ends of full blocks
  std::size_t large_bytes;      // in dedicated blocks, part of used_bytes
  std::size_t used_bytes;
  std::size_t retained_bytes;  // held from upstream, used or not
  std::uint64_t upstream_allocations;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

inline std::string arena_report(const arena_usage& u) {
  return std::to_string(u.requested_bytes) + " bytes requested, " + std::to_string(u.padding_bytes) +
         " lost to alignment, " + std::to_string(u.tail_bytes) + " at block ends, " +
         std::to_string(u.registry_bytes) + " for destructors, " + std::to_string(u.retained_bytes) +
         " held, " + std::to_string(u.upstream_allocations) + " upstream allocations";
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
