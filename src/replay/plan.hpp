// SPDX-License-Identifier: MIT
// The plan of a replay, as it lies in a file: what every thread does, operation by operation, and in which
// order the threads took turns.
//
//   Header | Lane × lanes | Mark × marks | operations of lane 0, of lane 1, … | Turn × turns
//
// with gaps, which are holes of the file, behind each lane's operations.
//
// A lane is a thread. Blocks are named by slots, which are used again. A slot's generation rises by one when
// a block is made in it and when that block is given back, and by two when a realloc moves it: it is even
// while the slot is empty. An operation names the generation that it finds; this, and the threads' begins
// and ends, is all the order there is between threads.
//
// Written and read by the same program on the same machine: little-endian structs, not for keeping.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "trace/event_kind.hpp"

namespace heapwright::replay {

inline constexpr std::array<char, 8> plan_magic = {'H', 'W', 'P', 'L', 'A', 'N', '0', '1'};

// What is done beside heap calls, which are numbered as in the trace.
inline constexpr std::uint8_t start_thread = 120;  // slot: the lane that begins
inline constexpr std::uint8_t join_thread = 121;   // slot: the lane that has ended
inline constexpr std::uint8_t take_mark = 122;     // slot: the mark; in recorded order only

inline constexpr std::uint64_t largest_size = (std::uint64_t{1} << 44U) - 1;
inline constexpr std::uint8_t touch_all = 255;

// 16 bytes. size: bytes asked for; mallopt: the value, malloc_trim: the pad.
// touch: how much of the block is written to: touch_all, or so many 254ths, from its begin.
struct Operation {
  std::uint64_t size : 44 = 0;
  std::uint64_t kind : 7 = 0;
  std::uint64_t alignment_log2 : 5 = 0;
  std::uint64_t touch : 8 = touch_all;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  trace::EventKind event_kind() const noexcept { return static_cast<trace::EventKind>(kind); }
  bool is_control() const noexcept { return kind >= start_thread && kind <= take_mark; }
};
static_assert(sizeof(Operation) == 16);

// So many operations of a lane before another one's.
struct Turn {
  std::uint32_t lane = 0;
  std::uint32_t count = 0;
};

struct Lane {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t count = 0;   // operations
  std::uint32_t thread = 0;  // the trace's number
  std::uint32_t ends = 0;    // 1: it ended during the recording, and somebody joins it
};

// A moment of the recording at which its memory is known.
struct Mark {
  std::uint64_t time_ns = 0;
  std::uint64_t recorded_bytes = 0;  // resident anonymous
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
  // What the recording says, and what was left out of it.
  std::uint64_t peak_live_bytes = 0;   // of the blocks' sizes
  std::uint64_t end_ns = 0;            // of the recording
  std::uint64_t before_recording = 0;  // calls about blocks that it does not know
  std::uint64_t failed = 0;            // allocations that failed, or are larger than largest_size
  std::uint64_t unseen_releases = 0;   // addresses that were handed out twice
  std::uint64_t damaged_chunks = 0;
  // Blocks large enough to leave whole pages untouched, and those of which scans tell.
  std::uint64_t large_blocks = 0;
  std::uint64_t seen_blocks = 0;
};

}  // namespace heapwright::replay
