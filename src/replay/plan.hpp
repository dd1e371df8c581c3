// SPDX-License-Identifier: MIT
// The file format of a replay's plan: every thread's operations, and the order in which the threads took
// turns.
//
//   Header | Lane × lanes | Mark × marks | operations of lane 0, of lane 1, … | call stacks of the same
//   | times of the same, if requested | Turn × turns
//
// Gaps, which are holes in the file, follow each lane's operations, stacks and times. A call stack is its
// number in the trace; a free has that of the allocating call. A time is when the operation is due
// (program_time.hpp), in ns; 0: at once.
//
// A lane is a thread. Blocks are named by slots, which are reused. A slot's generation rises by one when a
// block is allocated in it and when that block is freed, and by two when a realloc moves it or its free is
// deferred: it is even while the slot is empty. An operation names the generation that it expects. This, and
// the starts and ends of threads, is the only ordering between threads.
//
// Written and read by the same program on the same machine: little-endian structs, temporary.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "replay/change.hpp"
#include "trace/event_kind.hpp"

namespace heapwright::replay {

inline constexpr std::array<char, 8> plan_magic = {'H', 'W', 'P', 'L', 'A', 'N', '0', '1'};

// Operations other than heap calls, which have the trace's numbers.
inline constexpr std::uint8_t start_thread = 120;  // slot: the lane that begins
inline constexpr std::uint8_t join_thread = 121;   // slot: the lane that has ended
inline constexpr std::uint8_t take_mark = 122;     // slot: the mark; in recorded order only
// Earlier operations of the lane allocated the blocks that lived before a window: measuring begins here.
inline constexpr std::uint8_t begin_measuring = 123;

// Replacements of heap calls for blocks that a change (change.hpp) serves. The first four kinds each belong
// to one part of the change: its number is added.
inline constexpr std::uint8_t serve_make = 96;    // with an odd generation: moves the block
inline constexpr std::uint8_t serve_first = 100;  // the same, by an arena that is reset first
inline constexpr std::uint8_t serve_release = 104;
inline constexpr std::uint8_t serve_last = 108;     // the same; then the arena is reset
inline constexpr std::uint8_t serve_nothing = 112;  // replaces an allocation or a move
inline constexpr std::uint8_t serve_take = 113;     // replaces an allocation: takes the block of slot `size`
inline constexpr std::uint8_t serve_drop = 114;     // replaces a free: the block is forgotten
inline constexpr std::uint8_t serve_later = 115;    // the same: the block waits for another free
// Also per part: resets its arena of the lane, whatever is in it. Names no slot.
inline constexpr std::uint8_t serve_reset = 116;
static_assert(serve_first == serve_make + most_parts && serve_nothing == serve_last + most_parts);
static_assert(serve_reset % most_parts == 0 && serve_reset + most_parts == start_thread);
// Also per part: a realloc moves the part's block to the allocator.
inline constexpr std::uint8_t serve_leave = 124;
static_assert(serve_leave > begin_measuring && serve_leave + most_parts == 128);

inline constexpr std::uint64_t largest_size = (std::uint64_t{1} << 44U) - 1;
inline constexpr std::uint8_t touch_all = 255;

// 16 bytes. size: bytes requested; for mallopt the value, for malloc_trim the pad. touch: how much of the
// block is written to, from its start: touch_all, or a share (heap_calls.hpp).
struct Operation {
  std::uint64_t size : 44 = 0;
  std::uint64_t kind : 7 = 0;
  std::uint64_t alignment_log2 : 5 = 0;
  std::uint64_t touch : 8 = touch_all;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  trace::EventKind event_kind() const noexcept { return static_cast<trace::EventKind>(kind); }
  bool is_control() const noexcept { return kind >= start_thread && kind <= begin_measuring; }
  // There is a new block, whoever serves it.
  bool makes() const noexcept {
    return trace::is_allocation(event_kind()) || (kind >= serve_make && kind < serve_release) ||
           serving() == serve_leave;
  }
  // The recording had a new block here, which a change may have removed.
  bool made() const noexcept { return makes() || kind == serve_nothing || kind == serve_take; }
  bool is_served() const noexcept {
    return (kind >= serve_make && kind <= serve_later) || serving() == serve_leave;
  }
  // Nothing of the block is touched.
  bool is_left_out() const noexcept {
    return kind == serve_nothing || kind == serve_drop || kind == serve_later;
  }
  // The server's operation, without its part.
  std::uint8_t serving() const noexcept { return static_cast<std::uint8_t>(kind & ~(most_parts - 1)); }
  std::size_t part() const noexcept { return kind & (most_parts - 1); }
  // Was a realloc of a live block.
  bool moves() const noexcept { return (generation & 1U) != 0 && made(); }
  // The block stays live.
  bool keeps() const noexcept { return moves() || kind == serve_later; }
};
static_assert(sizeof(Operation) == 16);

// This many operations of one lane, before another lane's turn.
struct Turn {
  std::uint32_t lane = 0;
  std::uint32_t count = 0;
};

struct Lane {
  std::uint64_t offset = 0;         // in the file
  std::uint64_t stacks_offset = 0;  // in the file; 4 bytes for each operation
  std::uint64_t times_offset = 0;   // the same; 8 bytes
  std::uint64_t count = 0;          // operations
  std::uint32_t thread = 0;         // its number in the trace
  std::uint32_t ends = 0;           // 1: it ended during the recording and is joined
};

// A moment of the recording at which its memory is known.
struct Mark {
  std::uint64_t time_ns = 0;
  std::uint64_t recorded_bytes = 0;  // resident anonymous memory
  std::uint64_t mapped_bytes = 0;    // of that, in mappings that the program made itself
};

struct Header {
  std::array<char, 8> magic = plan_magic;
  std::uint64_t operations = 0;
  std::uint64_t turns = 0;
  std::uint64_t turns_offset = 0;
  std::uint32_t lanes = 0;
  std::uint32_t marks = 0;
  std::uint32_t slots = 0;
  std::uint32_t main_lane = 0;
  std::uint64_t stacks = 0;  // one more than the largest number
  // Facts of the recording, and what was left out of it.
  std::uint64_t peak_live_bytes = 0;  // of the blocks' sizes
  std::uint64_t begin_ns = 0;         // of the recording, or of a window in it
  std::uint64_t end_ns = 0;
  std::uint64_t earlier_blocks = 0;  // that lived at the begin of a window
  std::uint64_t earlier_bytes = 0;
  std::uint64_t before_recording = 0;  // calls for blocks it does not know
  std::uint64_t failed = 0;            // allocations that failed, or exceed largest_size
  std::uint64_t unseen_releases = 0;   // addresses that were returned twice
  std::uint64_t damaged_chunks = 0;
  // Blocks large enough to leave whole pages untouched, and those of them that scans saw.
  std::uint64_t large_blocks = 0;
  std::uint64_t seen_blocks = 0;
  // The maximum over the marks (0 without marks): bytes of large blocks that no scan saw, which count as
  // touched or as untouched; and bytes of smaller blocks.
  std::uint64_t guessed_touched_bytes = 0;
  std::uint64_t guessed_untouched_bytes = 0;
  std::uint64_t small_bytes = 0;
  std::uint64_t program_ns = 0;                // when the last operation is due, if the plan has times
  std::uint32_t has_times = 0;                 // 1: it has times
  std::uint32_t measured_lanes = 0;            // with a begin_measuring
  std::uint64_t background_lane = UINT64_MAX;  // frees what others deferred; none: no such lane
  std::uint64_t part_count = 0;
  std::array<ChangePart, most_parts> parts;
  std::array<ChangeCounts, most_parts> changed;
};

}  // namespace heapwright::replay
