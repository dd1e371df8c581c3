// SPDX-License-Identifier: MIT
// The shared table of stack nodes: one (parent, frame) pair each.
//
// The probe order of a child lets a chain of new frames share cache lines and a subtree share pages (plain
// hashing touches nearly all pages at 75,000 nodes, this order 800 of 8192):
//   1. its parent's cache line
//   2. one line of its parent's page, by (parent, frame)
//   3. in each level of the table that is mapped, from the smallest: one line in each of two pages that take
//   that
//      page's overflow, then lines anywhere
// A level is the table's first slots; where all lines of the order are full, the next level is mapped.
// Slots are never freed and a child takes the first free slot of its order, so concurrent insertions of one
// child end in one slot.
#pragma once

#include <cstdint>

#include "unwind/tables.hpp"

namespace heapwright::unwind {

inline constexpr std::uint32_t node_not_stored = 0;

inline constexpr std::uint32_t node_levels[] = {1U << 15, 1U << 17, 1U << 19, 1U << 21,
                                                session::node_table_slots};
inline constexpr std::uint32_t last_node_level = sizeof node_levels / sizeof node_levels[0] - 1;

// The nodes that this thread has seen are mapped there.
inline session::NodeWord* nodes_of(const Tables& tables) {
  if (tables.nodes == nullptr) return tables.block->nodes;
  return static_cast<session::NodeWord*>(tables.nodes->memory());
}

inline std::uint64_t node_word(std::uint32_t parent, std::uint32_t frame) {
  return static_cast<std::uint64_t>(parent) << 32 | (frame + 1);
}

// Index of the node, inserted if missing. `frame` is a pc number or a mark. node_not_stored: the table is
// full.
std::uint32_t intern_node(const Tables& tables, std::uint32_t parent, std::uint32_t frame) noexcept;

}  // namespace heapwright::unwind
