// SPDX-License-Identifier: MIT
// The changes that a replay can make: how it serves blocks of chosen call sites differently from the
// recording.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/cached_buffers.hpp"

namespace heapwright::replay {

enum class Change : std::uint32_t {
  none,
  arena,
  node_pool,
  reserve,
  small_vector,
  buffer_cache,
  segregate,
  reuse,
  deferred_free,
  exit_policy,
  trim
};

struct ChangeName {
  Change change;
  std::string_view name;
};
inline constexpr std::array<ChangeName, 10> change_names = {{
    {Change::arena, "arena"},
    {Change::node_pool, "node_pool"},
    {Change::reserve, "reserve"},
    {Change::small_vector, "small_vector"},
    {Change::buffer_cache, "buffer_cache"},
    {Change::segregate, "segregate"},
    {Change::reuse, "reuse"},
    {Change::deferred_free, "deferred_free"},
    {Change::exit_policy, "exit_policy"},
    {Change::trim, "trim"},
}};

// One change of a plan. number: for small_vector the bytes inside the owner; for deferred_free the
// milliseconds that a block waits; for trim those between two calls of malloc_trim.
struct ChangePart {
  Change change = Change::none;
  std::uint32_t number = 0;
  cached_buffers::Settings cache = {};  // for a buffer_cache

  // Blocks are allocated and freed by the part's code.
  bool has_server() const noexcept {
    return is_of_one_thread() || change == Change::buffer_cache || has_heap();
  }
  // What libheapwright-apply.so does: the sites have a heap of their own, shared by all threads. A realloc
  // at another site moves the block out of it, or into it.
  bool has_heap() const noexcept { return change == Change::segregate || change == Change::reuse; }
  // Blocks are allocated and moved as recorded.
  bool is_about_releases() const noexcept {
    return change == Change::deferred_free || change == Change::exit_policy;
  }
  // Per thread: another thread cannot move its blocks.
  bool is_of_one_thread() const noexcept { return change == Change::arena || change == Change::node_pool; }
};

inline constexpr std::size_t most_parts = 4;
// A larger buffer would not be a small vector's; blocks with their own pages are never inside one.
inline constexpr std::uint32_t largest_room = 4096;
// An idle background thread of heapwright::deferred_free checks at this interval.
inline constexpr std::uint32_t usual_wait_ms = 10;
inline constexpr std::uint32_t longest_wait_ms = 60'000;
inline constexpr std::uint32_t longest_interval_ms = 3'600'000;
// For a buffer_cache, per thread.
inline constexpr std::uint64_t most_cached_bytes = std::uint64_t{1} << 40U;
inline constexpr std::uint32_t most_cached_buffers = 65'536;

// The changes requested for a plan.
struct ChangeRequest {
  std::vector<ChangePart> parts;
  // By stack: 1 for the blocks of the first part, and so on; 0: none.
  std::vector<std::uint8_t> part_of_stack;
  // By part: the phase whose end resets its arenas; empty or missing: they are reset with their last block.
  std::vector<std::string> phases;

  bool has_phase(std::size_t part) const noexcept { return part < phases.size() && !phases[part].empty(); }
  bool has_phases() const noexcept;
  bool defers_frees() const noexcept;
  // The first trim's number; parts.size(): none.
  std::size_t trim() const noexcept;
  // 0: none.
  std::uint8_t part_of(std::uint32_t stack) const noexcept {
    return stack < part_of_stack.size() ? part_of_stack[stack] : std::uint8_t{0};
  }
};

// Parses "arena", or several changes such as "arena:phase=load+buffer_cache:total_bytes=4M,buffers=64",
// without call stacks yet. Throws trace::TraceError with one line.
ChangeRequest changes_of(std::string_view text);

// The results of one part.
struct ChangeCounts {
  std::uint64_t blocks = 0;  // served differently, or spared a call
  std::uint64_t bytes = 0;   // requested, of these
  // arena: number of resets; reserve: steps of growth avoided; small_vector: calls avoided; deferred_free:
  // rows of frees; trim: calls of malloc_trim.
  std::uint64_t events = 0;
  std::uint64_t freed_by_others = 0;  // by another thread than the allocating one
  std::uint64_t moved_by_others = 0;  // reallocated by another thread, and so left with the heap
  std::uint64_t foreign_moves = 0;    // reallocs at the sites, of blocks that others allocated: as recorded
  std::uint64_t never_freed = 0;
  std::uint64_t outlived = 0;            // that outlive their phase, and so left with the heap
  std::uint64_t most_waiting_bytes = 0;  // of blocks whose free was deferred
  std::uint64_t freed_by_caller = 0;     // of these, by the thread itself: too many waited
};

}  // namespace heapwright::replay
