// SPDX-License-Identifier: MIT
#include "unwind/node_table.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <bit>

namespace heapwright::unwind {
namespace {

constexpr std::uint32_t line_slots = 8;  // one cache line
static_assert(sizeof(session::NodeWord) * line_slots == 64);
static_assert(offsetof(session::ProcessBlock, nodes) % 64 == 0);
constexpr std::uint32_t page_lines = 64;
constexpr std::uint32_t overflow_pages = 2;
constexpr std::uint32_t max_far_lines = 128;  // of the last level
constexpr std::uint32_t far_lines = 8;        // of the others
// A stride that leaves the page: pages fill up as a whole, so a full line's neighbours are full. All steps
// together go once around the last level, whose first quarter is full of the levels before it.
constexpr std::uint32_t far_stride_lines = 128 * page_lines + 1;
static_assert(far_stride_lines * max_far_lines >= session::node_table_slots / line_slots);
constexpr std::uint32_t max_nodes = session::node_table_slots / 8 * 7;

std::uint64_t scramble(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15ULL;
  return value ^ value >> 32;
}

// The slots of one line that hold `word`, bit 2n for slot n. A 16-byte load may see its two slots at
// different times, but never half a slot.
[[gnu::always_inline]] inline std::uint32_t slots_holding(const session::NodeWord* line, std::uint64_t word) {
#if defined(__x86_64__)
  const auto* pairs = reinterpret_cast<const __m128i*>(line);
  const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(word));
  const auto equal_halves = [&](int pair) { return _mm_cmpeq_epi32(_mm_load_si128(pairs + pair), wanted); };
  const __m128i halves = _mm_packs_epi16(_mm_packs_epi32(equal_halves(0), equal_halves(1)),
                                         _mm_packs_epi32(equal_halves(2), equal_halves(3)));
  const auto bits = static_cast<std::uint32_t>(_mm_movemask_epi8(halves));
  return bits & bits >> 1 & 0x5555;
#else
  std::uint32_t bits = 0;
  for (std::uint32_t slot = 0; slot < line_slots; ++slot) {
    bits |= static_cast<std::uint32_t>(line[slot].load(std::memory_order_relaxed) == word) << 2 * slot;
  }
  return bits;
#endif
}

constexpr std::uint32_t line_is_full = ~0U;

// Puts `word` into the line's first free slot, unless another thread has.
[[gnu::noinline, gnu::cold]] std::uint32_t insert(const Tables& tables, std::uint64_t word,
                                                  std::uint32_t line) {
  session::ProcessBlock& block = *tables.block;
  session::NodeWord* const nodes = nodes_of(tables);
  for (std::uint32_t slot = line * line_slots; slot < (line + 1) * line_slots; ++slot) {
    if (slot == 0) continue;  // index 0 means no stack
    std::uint64_t found = nodes[slot].load(std::memory_order_relaxed);
    if (found == 0) {
      if (block.node_count.load(std::memory_order_relaxed) >= max_nodes) return node_not_stored;
      // No ordering needed: a node is entirely in its word, and a reader learns its index from an event
      // published later.
      if (nodes[slot].compare_exchange_strong(found, word, std::memory_order_relaxed)) {
        block.node_count.fetch_add(1, std::memory_order_relaxed);
        return slot;
      }
    }
    if (found == word) return slot;
  }
  return line_is_full;
}

// Returns the node's index, node_not_stored or line_is_full.
[[gnu::always_inline]] inline std::uint32_t search_line(const Tables& tables, std::uint64_t word,
                                                        std::uint32_t line) {
  const session::NodeWord* nodes = nodes_of(tables) + line * line_slots;
  const std::uint32_t holding = slots_holding(nodes, word);
  if (holding != 0) [[likely]] {
    return line * line_slots + static_cast<std::uint32_t>(std::countr_zero(holding)) / 2;
  }
  return slots_holding(nodes, 0) != 0 ? insert(tables, word, line) : line_is_full;
}

// Whether a level is mapped, now or before.
bool has_level(const Tables& tables, std::uint32_t level) {
  if (tables.nodes == nullptr) return true;
  return tables.nodes->level() >= level || tables.nodes->grow(level);
}

// Beyond the parent's page: first the pages shared by all overflow of that page, then anywhere in the level.
std::uint32_t search_level(const Tables& tables, std::uint64_t word, std::uint32_t home, std::uint64_t hash,
                           std::uint32_t level) {
  const std::uint32_t lines = node_levels[level] / line_slots;
  const std::uint32_t steps = overflow_pages + (level == last_node_level ? max_far_lines : far_lines);
  const auto overflow_page = static_cast<std::uint32_t>(scramble(home / page_lines + 1));
  for (std::uint32_t step = 0; step < steps; ++step) {
    const auto line_in_page = static_cast<std::uint32_t>(hash >> (6 * (step + 1)));
    const std::uint32_t line = step < overflow_pages
                                   ? (overflow_page + step) * page_lines + (line_in_page & (page_lines - 1))
                                   : static_cast<std::uint32_t>(hash >> 32) + step * far_stride_lines;
    const std::uint32_t index = search_line(tables, word, line & (lines - 1));
    if (index != line_is_full) return index;
  }
  return line_is_full;
}

[[gnu::noinline]] std::uint32_t search_far(const Tables& tables, std::uint64_t word, std::uint32_t home,
                                           std::uint64_t hash) {
  for (std::uint32_t level = 0; level <= last_node_level && has_level(tables, level); ++level) {
    const std::uint32_t index = search_level(tables, word, home, hash, level);
    if (index != line_is_full) return index;
  }
  return node_not_stored;
}

}  // namespace

std::uint32_t intern_node(const Tables& tables, std::uint32_t parent, std::uint32_t frame) noexcept {
  const std::uint64_t word = node_word(parent, frame);
  const std::uint32_t home = parent / line_slots;
  std::uint32_t index = search_line(tables, word, home);
  if (index != line_is_full) [[likely]] {
    return index;
  }
  const std::uint64_t hash = scramble(word);
  const std::uint32_t near =
      (home & ~(page_lines - 1)) | (static_cast<std::uint32_t>(hash) & (page_lines - 1));
  index = search_line(tables, word, near);
  return index != line_is_full ? index : search_far(tables, word, home, hash);
}

}  // namespace heapwright::unwind
