// SPDX-License-Identifier: MIT
// How much of each large block the program wrote to, by the recorded scans of resident pages: pages of a
// block that no scan found resident were not touched. A block that no scan saw, or only early in its life,
// counts like others of its call stack, or as fully touched; but never as more than it can have been: what
// was resident in the whole process at the last reading in its life, and what can be written to in the time
// since then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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

  // The time of the next scan; UINT64_MAX after the last one.
  std::uint64_t next_ns() const noexcept {
    return next_scan_ < source_.scans().size() ? source_.scans()[next_scan_].end_ns : UINT64_MAX;
  }
  // Processes the next scan and returns it; without windows if it is damaged. Preconditions: there is one,
  // and exactly the blocks that live at next_ns() were reported.
  trace::ResidencyScan pass();

  struct Large {
    std::uint64_t size = 0;
    std::uint64_t made_ns = 0;
    std::uint64_t operation = 0;  // its number in the lane
    std::uint32_t lane = 0;
    std::uint32_t stack = 0;
    std::uint64_t pages = 0;         // that belong to it alone
    std::uint64_t touched = 0;       // of these, at least
    std::uint64_t seen_ns = 0;       // by the last scan; 0: by none
    std::uint8_t touch = touch_all;  // its current value
    std::uint32_t first_mark = 0;    // during its life
    std::uint64_t written_ns = 0;    // from then on: of a block that realloc grew, when it was first made
    bool is_cleared = false;         // by calloc, in its call: it lies on used memory, or may do
  };
  // Maxima over the marks for live blocks that no scan saw: bytes that count as touched, and as untouched.
  // This is the possible error.
  struct Guessed {
    std::uint64_t touched_bytes = 0;
    std::uint64_t untouched_bytes = 0;
  };
  // Blocks of at least least_bytes. Returns the preliminary Operation::touch of the block.
  std::uint8_t make(std::uint64_t address, const Large& block);
  // The block leaves its address; it must then be settled. Its size is 0 if none is known there.
  Large take(std::uint64_t address);
  // Makes another operation the block's allocating one; does nothing if the block is not large.
  void set_maker(std::uint64_t address, std::uint32_t lane, std::uint64_t operation);
  // Writes what was seen or kept of the block to the operation that allocated it. now_ns: when it ends.
  void settle(const Large& block, std::uint64_t kept_bytes, std::uint64_t now_ns, PlanWriter& writer);
  void pass_mark() { changes_at_marks_.emplace_back(); }
  // Settles all blocks that are still live at the end.
  void finish(std::uint64_t end_ns, PlanWriter& writer);

  std::uint64_t blocks() const noexcept { return blocks_; }
  std::uint64_t seen_blocks() const noexcept { return seen_blocks_; }
  // Precondition: all blocks are settled.
  Guessed guessed() const noexcept;

 private:
  struct Sum {
    std::uint64_t pages = 0;
    std::uint64_t touched = 0;
  };
  // A block that no scan saw, what it counts as, and the most that can have been written to.
  struct Unseen {
    Large block;
    std::uint8_t touch = touch_all;
    std::uint64_t most_pages = 0;
    std::uint32_t next_mark = 0;  // after its life
  };
  // These are settled at the end, when more of their call stacks were seen; others at once. They are the
  // first ones: later ones were made after some scan.
  static constexpr std::size_t most_unseen = 100'000;

  static std::uint8_t share(std::uint64_t touched, std::uint64_t pages) noexcept;
  std::uint8_t share_of_stack(std::uint32_t stack) const noexcept;
  std::uint64_t most_pages_of(const Large& block, std::uint64_t now_ns) noexcept;
  void see(std::uint64_t touched, std::uint64_t now_ns, Large& block);
  void forget(const Large& block);
  static bool is_settled(const Large& block, std::uint64_t end_ns) noexcept;
  // written: what the operation has now, where it is known.
  void settle_unseen(const Unseen& unseen, std::optional<std::uint8_t> written, PlanWriter& writer);

  const order::Source& source_;
  std::size_t next_scan_ = 0;
  std::map<std::uint64_t, Large> live_;
  std::unordered_map<std::uint32_t, Sum> of_stack_;
  std::vector<Unseen> unseen_;
  std::size_t next_reading_ = 0;  // of the memory: the first that is not before the latest moment
  std::uint64_t blocks_ = 0;
  std::uint64_t seen_blocks_ = 0;
  // By mark, and one after the last: change of the unseen live blocks since the previous mark, modulo 2^64.
  std::vector<Guessed> changes_at_marks_ = std::vector<Guessed>(1);
};

}  // namespace heapwright::replay
