// SPDX-License-Identifier: MIT
#include "analyze/threads.hpp"

#include <algorithm>
#include <tuple>

#include "analyze/facts/threads.hpp"

namespace heapwright::analyze {

CrossThreadCounts::Cell& CrossThreadCounts::cell_of(std::uint64_t pair) {
  if (cells_.size() >= pair_limit) {
    const auto found = cells_.find(pair);
    return found == cells_.end() ? others_ : found->second;
  }
  return cells_[pair];
}

void CrossThreadCounts::begin_window() {
  cells_.clear();
  others_ = {};
  last_ = nullptr;
}

std::vector<CrossThread> CrossThreadCounts::finish(const std::vector<std::uint32_t>& thread_of_lane,
                                                   const std::vector<ThreadLife>& lives) const {
  std::vector<CrossThread> rows;
  for (std::size_t lane = 0; lane < lives.size(); ++lane) {
    if (lives[lane].own_blocks != 0) {
      rows.push_back(
          {thread_of_lane[lane], thread_of_lane[lane], lives[lane].own_blocks, lives[lane].own_bytes});
    }
  }
  for (const auto& [pair, cell] : cells_) {
    const auto allocating = thread_of_lane[pair >> 32];
    const auto freeing = thread_of_lane[pair & UINT32_MAX];
    rows.push_back({allocating, freeing, cell.blocks, cell.bytes});
  }
  if (others_.blocks != 0) {
    rows.push_back({CrossThread::other_threads, CrossThread::other_threads, others_.blocks, others_.bytes});
  }
  std::sort(rows.begin(), rows.end(), [](const CrossThread& a, const CrossThread& b) {
    return std::tie(a.allocating_thread, a.freeing_thread) < std::tie(b.allocating_thread, b.freeing_thread);
  });
  return rows;
}

}  // namespace heapwright::analyze
