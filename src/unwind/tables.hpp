// SPDX-License-Identifier: MIT
// Where the tables of a process are.
#pragma once

#include <atomic>
#include <cstdint>

#include "session/layout.hpp"

namespace heapwright::unwind {

// The part of the node table that is mapped, which grows by levels (unwind/node_table.hpp): a program that
// locks its memory pays for what it has. A larger mapping lies elsewhere and shows the same memory, so that
// threads may go on in a smaller one.
struct MappedNodes {
  static constexpr std::uint64_t level_mask = 0xfff;
  std::atomic<std::uint64_t> place;  // address, a multiple of the page size, | level
  // Makes the part of this level accessible and changes `place`. False: impossible, and the table is full.
  bool (*grow)(std::uint32_t level) noexcept;
};

// The tables of one process, shared by its threads. Plain pointers into the
// mapped ProcessBlock.
struct Tables {
  session::ProcessBlock* block = nullptr;
  MappedNodes* nodes = nullptr;  // nullptr: the block's own, all of them
  std::uint32_t max_frames = 128;
  bool ticks_are_tsc = true;
};

}  // namespace heapwright::unwind
