// SPDX-License-Identifier: MIT
// How much of each large block the program wrote to, by the recorded scans of resident pages: pages of a
// block that no scan found in memory were not touched. A block that no scan saw counts as the others of its
// call stack before it, or as touched whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "order/source.hpp"
#include "replay/plan_writer.hpp"

namespace heapwright::replay {

class TouchedPages {
 public:
  // Smaller blocks share their pages with others.
  static constexpr std::uint64_t least_bytes = 16384;

  // Of the scans before that time only the last one counts.
  TouchedPages(const order::Source& source, std::uint64_t from_ns);

  // When the next scan is to be looked at; UINT64_MAX after the last one.
  std::uint64_t next_ns() const noexcept {
    return next_scan_ < source_.scans().size() ? source_.scans()[next_scan_].end_ns : UINT64_MAX;
  }
  // Looks at it, and gives it back; without windows when it is damaged. Preconditions: all blocks that live
  // at next_ns() were told, and no others; there is one.
  trace::ResidencyScan pass();

  struct Large {
    std::uint64_t size = 0;
    std::uint64_t made_ns = 0;
    std::uint64_t operation = 0;  // its number in the lane
    std::uint32_t lane = 0;
    std::uint32_t stack = 0;
    std::uint64_t pages = 0;         // that it has for itself
    std::uint64_t touched = 0;       // of these
    std::uint8_t touch = touch_all;  // as it counts
    bool is_seen = false;
    std::uint32_t first_mark = 0;  // that comes while it lives
  };
  // Of blocks that no scan saw and that lived at one mark, at most: bytes that count as touched, and that do
  // not. So much may be wrong.
  struct Guessed {
    std::uint64_t touched_bytes = 0;
    std::uint64_t untouched_bytes = 0;
  };
  // Blocks of at least least_bytes. The Operation::touch that a block counts with for the time being.
  std::uint8_t make(std::uint64_t address, const Large& block);
  // The block leaves its address; it must be settled. Its size is 0 when none is known there.
  Large take(std::uint64_t address);
  // The block there counts as made by another operation; nothing where it is none of these.
  void set_maker(std::uint64_t address, std::uint32_t lane, std::uint64_t operation);
  // What was seen of it, or is kept of it, is written to the operation that made it.
  void settle(const Large& block, std::uint64_t kept_bytes, PlanWriter& writer);
  void pass_mark() { changes_at_marks_.emplace_back(); }
  // All that still live.
  void finish(PlanWriter& writer);

  std::uint64_t blocks() const noexcept { return blocks_; }
  std::uint64_t seen_blocks() const noexcept { return seen_blocks_; }
  // Precondition: all blocks are settled.
  Guessed guessed() const noexcept;

 private:
  struct Sum {
    std::uint64_t pages = 0;
    std::uint64_t touched = 0;
  };
  static std::uint8_t share(std::uint64_t touched, std::uint64_t pages) noexcept;
  void see(std::uint64_t touched, Large& block);

  const order::Source& source_;
  std::size_t next_scan_ = 0;
  std::map<std::uint64_t, Large> live_;
  std::unordered_map<std::uint32_t, Sum> of_stack_;
  std::uint64_t blocks_ = 0;
  std::uint64_t seen_blocks_ = 0;
  // By mark, and one after the last: what more of the unseen blocks live there than at the one before;
  // modulo 2^64 where it is less.
  std::vector<Guessed> changes_at_marks_ = std::vector<Guessed>(1);
};

}  // namespace heapwright::replay
