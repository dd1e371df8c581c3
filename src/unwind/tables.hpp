// SPDX-License-Identifier: MIT
// Where the tables of a process are.
#pragma once

#include <atomic>
#include <cstdint>

#include "session/layout.hpp"

namespace heapwright::unwind {

struct Interpreter;

// The part of a table that is mapped, which grows by levels: a program that locks its memory pays for what it
// has. A larger mapping lies elsewhere and shows the same memory, so that threads may go on in a smaller one.
struct MappedPart {
  static constexpr std::uint64_t level_mask = 0xfff;
  std::atomic<std::uint64_t> place;  // address, a multiple of the page size, | level
  // Makes the part of this level accessible and changes `place`. False: impossible, and the table is full.
  bool (*grow)(std::uint32_t level) noexcept;

  std::uint32_t level() const noexcept {
    return static_cast<std::uint32_t>(place.load(std::memory_order_acquire) & level_mask);
  }
  void* memory() const noexcept {
    return reinterpret_cast<void*>(place.load(std::memory_order_acquire) & ~level_mask);
  }
};

// The tables of one process, shared by its threads. Plain pointers into the
// mapped ProcessBlock.
struct Tables {
  session::ProcessBlock* block = nullptr;
  MappedPart* nodes =
      nullptr;  // by node_levels (unwind/node_table.hpp); nullptr: the block's own, all of them
  MappedPart* modules = nullptr;  // by module_levels (unwind/loaded_objects.hpp); nullptr: as above
  std::uint32_t max_frames = 128;
  bool ticks_are_tsc = true;
  const Interpreter* interpreter = nullptr;  // unwind/interpreter.hpp; nullptr: none ever
};

}  // namespace heapwright::unwind
