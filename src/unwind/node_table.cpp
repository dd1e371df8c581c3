// SPDX-License-Identifier: MIT
#include "unwind/node_table.hpp"

namespace heapwright::unwind {
namespace {

constexpr std::uint32_t line_slots = 8;  // one cache line
constexpr std::uint32_t page_lines = 64;
constexpr std::uint32_t table_lines = session::node_table_slots / line_slots;
constexpr std::uint32_t max_far_lines = 16;
constexpr std::uint32_t max_nodes = session::node_table_slots / 8 * 7;

std::uint64_t scramble(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15ULL;
  return value ^ value >> 32;
}

enum class Outcome : std::uint8_t { found, line_is_full, table_is_full };

struct Search {
  session::ProcessBlock& block;
  std::uint64_t word;
  std::uint32_t index = node_not_stored;

  // Slots of the line in circular order from `first_slot`.
  Outcome in_line(std::uint32_t line, std::uint32_t first_slot) {
    for (std::uint32_t step = 0; step < line_slots; ++step) {
      const std::uint32_t slot = line * line_slots + ((first_slot + step) & (line_slots - 1));
      if (slot == 0) continue;
      std::uint64_t found = block.nodes[slot].load(std::memory_order_relaxed);
      if (found == 0) {
        if (!insert(slot, found)) return Outcome::table_is_full;
      }
      if (found == word) {
        index = slot;
        return Outcome::found;
      }
    }
    return Outcome::line_is_full;
  }

  // Afterwards `found` is what the slot holds. False: no more room. The words
  // need no ordering: a node is all in its word, and a reader learns its
  // index from an event published later.
  bool insert(std::uint32_t slot, std::uint64_t& found) {
    if (block.node_count.load(std::memory_order_relaxed) >= max_nodes) return false;
    if (!block.nodes[slot].compare_exchange_strong(found, word, std::memory_order_relaxed)) return true;
    block.node_count.fetch_add(1, std::memory_order_relaxed);
    found = word;
    return true;
  }
};

}  // namespace

std::uint32_t intern_node(session::ProcessBlock& block, std::uint32_t parent, std::uint32_t frame) noexcept {
  Search search{block, static_cast<std::uint64_t>(parent) << 32 | (frame + 1)};
  const std::uint32_t home = parent / line_slots;
  if (search.in_line(home, parent + 1) != Outcome::line_is_full) return search.index;

  const auto sibling_line = static_cast<std::uint32_t>(scramble(parent)) & (page_lines - 1);
  const std::uint32_t near = (home & ~(page_lines - 1)) | sibling_line;
  if (search.in_line(near, 0) != Outcome::line_is_full) return search.index;

  const auto far = static_cast<std::uint32_t>(scramble(search.word));
  for (std::uint32_t step = 0; step < max_far_lines; ++step) {
    if (search.in_line((far + step) & (table_lines - 1), 0) != Outcome::line_is_full) return search.index;
  }
  return node_not_stored;
}

}  // namespace heapwright::unwind
