// SPDX-License-Identifier: MIT
// Memory statistics of node pools.
#ifndef HEAPWRIGHT_DETAIL_NODE_STATISTICS_HPP
#define HEAPWRIGHT_DETAIL_NODE_STATISTICS_HPP

#include <cstddef>
#include <string>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

struct node_pool_statistics {
  std::size_t live_blocks;     // in pages
  std::size_t live_bytes;      // of these blocks, rounded up to 8
  std::size_t large_blocks;    // above node_pool::largest_node, or with an alignment above 16
  std::size_t retained_bytes;  // held from upstream, in total
  std::size_t pages;           // with a block in use
  std::size_t idle_pages;      // free and resident
};

// Sums over the pools with one name.
struct node_pool_totals {
  std::size_t pools;
  node_pool_statistics sum;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

inline void add_statistics(node_pool_statistics& sum, const node_pool_statistics& s) noexcept {
  sum.live_blocks += s.live_blocks;
  sum.live_bytes += s.live_bytes;
  sum.large_blocks += s.large_blocks;
  sum.retained_bytes += s.retained_bytes;
  sum.pages += s.pages;
  sum.idle_pages += s.idle_pages;
}

inline std::string node_report(const node_pool_statistics& s) {
  return std::to_string(s.live_blocks) + " nodes of " + std::to_string(s.live_bytes) + " bytes in " +
         std::to_string(s.pages) + " pages, " + std::to_string(s.large_blocks) + " large blocks, " +
         std::to_string(s.retained_bytes) + " bytes held";
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
