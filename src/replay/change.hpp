// SPDX-License-Identifier: MIT
// Blocks of chosen call sites that a replay serves otherwise than the recording did: which changes there are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace heapwright::replay {

enum class Change : std::uint32_t { none, arena, node_pool, reserve, small_vector, buffer_cache, segregate };

struct ChangeName {
  Change change;
  std::string_view name;
};
inline constexpr std::array<ChangeName, 6> change_names = {{
    {Change::arena, "arena"},
    {Change::node_pool, "node_pool"},
    {Change::reserve, "reserve"},
    {Change::small_vector, "small_vector"},
    {Change::buffer_cache, "buffer_cache"},
    {Change::segregate, "segregate"},
}};

// One change of a plan. bytes: small_vector: the room inside the owner.
struct ChangePart {
  Change change = Change::none;
  std::uint32_t bytes = 0;

  // By the parts' code, which gives and takes blocks.
  bool has_server() const noexcept {
    return is_of_one_thread() || change == Change::buffer_cache || change == Change::segregate;
  }
  // Of one thread: another one cannot move its blocks.
  bool is_of_one_thread() const noexcept { return change == Change::arena || change == Change::node_pool; }
};

inline constexpr std::size_t most_parts = 4;
// Larger rooms are no small vector's; and blocks with pages of their own are never in one.
inline constexpr std::uint32_t largest_room = 4096;

// What is asked of a plan.
struct ChangeRequest {
  std::vector<ChangePart> parts;
  std::vector<std::uint8_t> part_of_stack;  // by stack: 1 for the first part's blocks, and so on; 0: none

  // 0: none.
  std::uint8_t part_of(std::uint32_t stack) const noexcept {
    return stack < part_of_stack.size() ? part_of_stack[stack] : std::uint8_t{0};
  }
};

// "arena", or several as "arena+small_vector:64". Throws trace::TraceError with one line.
std::vector<ChangePart> parts_of(std::string_view text);

// What became of one part.
struct ChangeCounts {
  std::uint64_t blocks = 0;  // served otherwise, or spared a call
  std::uint64_t bytes = 0;   // asked for, of these
  // arena: how often one was emptied; reserve: steps of growth that are gone; small_vector: calls that are.
  std::uint64_t events = 0;
  std::uint64_t freed_by_others = 0;  // by another thread than made them
  std::uint64_t moved_by_others = 0;  // reallocated by one, and so left with the heap
  std::uint64_t foreign_moves = 0;    // reallocs at the sites, of blocks that others made: as recorded
  std::uint64_t never_freed = 0;
};

}  // namespace heapwright::replay
