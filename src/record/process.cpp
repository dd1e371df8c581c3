// SPDX-License-Identifier: MIT
#include "record/process.hpp"

#include "record/session_link.hpp"
#include "unwind/node_table.hpp"

namespace heapwright::record {

constinit WipedOnFork wiped_on_fork{};
constinit Process process{};

session::Lane* map_lane(std::uint32_t index, session::Lane* mapped, std::uint32_t mapped_index) noexcept {
  if (is_confined()) return nullptr;
  return static_cast<session::Lane*>(
      map_after(mapped, (index - mapped_index) * sizeof(session::Lane), sizeof(session::Lane)));
}

bool grow_nodes(std::uint32_t level) noexcept {
  if (is_confined()) return false;
  const std::size_t bytes = unwind::node_levels[level] * sizeof(session::NodeWord);
  void* const words = map_after(process.block->nodes, 0, bytes);
  if (words == nullptr) return false;
  const std::uint64_t place = reinterpret_cast<std::uint64_t>(words) | level;
  std::uint64_t seen = process.nodes.place.load(std::memory_order_relaxed);
  while ((seen & unwind::MappedNodes::level_mask) < level) {
    if (process.nodes.place.compare_exchange_weak(seen, place, std::memory_order_acq_rel)) return true;
  }
  unmap_part(words, bytes);  // another thread was first
  return true;
}

}  // namespace heapwright::record
