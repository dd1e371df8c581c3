// SPDX-License-Identifier: MIT
#include "collect/lost_in_copies.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heapwright::collect {
namespace {

// Each takes as long as a snapshot.
constexpr std::uint64_t most_copies = 10;
// One may have nothing new by chance.
constexpr std::uint64_t quiet_copies = 2;

// By block, and roots behind them: something leads to it. Walks through the edges where they are, by `from`,
// as a graph of its own would take more memory than the snapshot itself did.
std::vector<bool> found_in(const trace::HeapGraph& snapshot) {
  const auto blocks = static_cast<std::uint32_t>(snapshot.nodes.size());
  const auto nodes = blocks + static_cast<std::uint32_t>(snapshot.roots.size());
  std::vector<std::uint32_t> first(nodes + std::size_t{1});  // of each node's edges
  for (const trace::GraphEdge& edge : snapshot.edges) ++first[edge.from + std::size_t{1}];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<bool> found(nodes);
  std::vector<std::uint32_t> open;  // whose edges are still to be followed
  for (std::uint32_t root = blocks; root < nodes; ++root) open.push_back(root);
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    for (std::uint32_t at = first[node]; at != first[node + std::size_t{1}]; ++at) {
      const std::uint32_t to = snapshot.edges[at].to;
      if (found[to]) continue;
      found[to] = true;
      open.push_back(to);
    }
  }
  return found;
}

}  // namespace

void LostInCopies::add(trace::HeapGraph& snapshot) {
  const std::vector<bool> is_found = found_in(snapshot);
  const bool is_first = copies_++ == 0;
  const auto moving = static_cast<std::uint32_t>(snapshot.nodes.size() + snapshot.roots.size());
  std::vector<std::uint64_t> lost;
  for (std::uint32_t block = 0; block < snapshot.nodes.size(); ++block) {
    if (is_found[block]) continue;
    const std::uint64_t address = snapshot.nodes[block].address;
    if (is_first || std::binary_search(lost_.begin(), lost_.end(), address)) {
      lost.push_back(address);
    } else {
      snapshot.edges.emplace_back(moving, block, 0, false);
    }
  }
  const std::uint64_t missed = is_first ? 0 : lost_.size() - lost.size();
  quiet_ = is_first || missed != 0 ? 0 : quiet_ + 1;
  missed_ = quiet_ >= quiet_copies ? 0 : std::exchange(missed_before_, missed) + missed;
  lost_ = std::move(lost);
  snapshot.roots.push_back({trace::RootKind::moving, 0, {}, {}});
  snapshot.copies = copies_;
  snapshot.missed_blocks = missed_;
}

bool LostInCopies::needs_another() const noexcept {
  if (lost_.empty() || copies_ == most_copies) return false;
  return quiet_ < quiet_copies;
}

}  // namespace heapwright::collect
