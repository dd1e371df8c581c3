// SPDX-License-Identifier: MIT
// Chooses a window of a long recording that stands for the whole, and finds the blocks that lived at its
// begin.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "order/source.hpp"
#include "replay/block_table.hpp"
#include "replay/plan.hpp"
#include "replay/rows.hpp"

namespace heapwright::replay {

struct Window {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = UINT64_MAX;

  bool is_part() const noexcept { return from_ns > 0 || to_ns != UINT64_MAX; }
};

// About this number of calls around the recording's largest memory sample, three quarters of them before it;
// the first ones if there are no samples. The whole recording if it has no more calls, or for 0.
Window choose_window(const order::Source& source, std::uint64_t calls);

// Moments of the window, spread evenly over the recording's memory samples, and the one with the maximum. In
// a partial window the first mark is at its begin, when none of its blocks are allocated; the recorded value
// of that mark is not filled in.
std::vector<Mark> choose_marks(const order::Source& source, const Window& window);

// Tracks the live blocks during the calls before a window. Memory: these blocks.
class EarlierBlocks {
 public:
  struct Made {
    std::uint32_t lane = 0;
    Row row;  // as if it had been allocated this way, even after a realloc
  };

  explicit EarlierBlocks(std::size_t lanes) : moved_(lanes) {}

  void add(std::uint32_t lane, const Row& row);

  const BlockTable& table() const noexcept { return table_; }
  std::uint64_t live_bytes() const noexcept { return live_bytes_; }
  // The oldest first. Must be the last call.
  std::vector<Made> take_all();
  // By lane: blocks whose realloc has begun and not ended; their address may already belong to another block.
  const std::vector<Made>& taken_moves() const noexcept { return moved_; }
  // The program's allocator settings, in order.
  const std::vector<Made>& settings() const noexcept { return settings_; }

 private:
  struct Kept {
    Made made;
    std::uint64_t number = 0;  // by age; 0: none
  };

  void put(std::uint32_t lane, const Row& row);
  Made take(std::uint64_t address);

  BlockTable table_;  // slot: the place in kept_
  std::vector<Kept> kept_;
  std::vector<std::uint32_t> free_places_;
  std::vector<Made> moved_;
  std::vector<Made> settings_;
  std::uint64_t count_ = 0;
  std::uint64_t live_bytes_ = 0;
};

}  // namespace heapwright::replay
