// SPDX-License-Identifier: MIT
// Changes a plan's operations on the blocks of chosen call sites, while it is written. A block is of the site
// that made it first, whoever moves it later.
//
// An arena or a node_pool is of one thread: each that makes blocks of these sites has its own. A block that
// another thread reallocates stays with the heap, from its begin.
//   arena         a release does nothing; when none of a thread's blocks live any more, its arena is reset,
//                 by that thread: at once, or before its next block when another thread gave the last one
//                 back. With a phase: when the thread ends that phase; blocks that live on stay with the
//                 heap.
//   node_pool     a block that another thread gives back stays with the heap.
//   buffer_cache  each thread takes from its own and gives back to its own.
//   reserve       a block has its largest size from the start, and its steps of growth do nothing: reallocs,
//                 and new blocks of the same part that take its place (growth_by_copies.hpp).
//   small_vector  blocks of up to N bytes do not exist.
//   segregate     blocks come from one heap of their own, for all threads.
//   deferred_free blocks are released later, by another thread (waiting_frees.hpp).
//   exit_policy   blocks that are given back after the last one that is made of this part never are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "replay/change.hpp"
#include "replay/growth_by_copies.hpp"
#include "replay/plan.hpp"
#include "replay/plan_writer.hpp"
#include "replay/touched_pages.hpp"
#include "replay/waiting_frees.hpp"

namespace heapwright::replay {

class ChangeMarker {
 public:
  // An operation of a lane, by number.
  struct Maker {
    std::uint32_t lane = 0;
    std::uint64_t operation = 0;
  };

  // All must outlive it.
  ChangeMarker(const ChangeRequest& request, std::size_t lanes, PlanWriter& writer, TouchedPages& touched)
      : request_(request),
        writer_(writer),
        touched_(touched),
        arenas_(lanes * request.parts.size()),
        growth_(lanes),
        waiting_(request, lanes) {}

  bool is_idle() const noexcept { return request_.parts.empty(); }

  // The lane's next operation, which makes a block at the address or moves one there.
  void make(std::uint32_t lane, std::uint32_t stack, std::uint64_t address, Operation& operation);
  // The lane's next operation, which gives a block back.
  void release(std::uint32_t lane, Operation& operation);
  // Whether the slot's block is not given back when the program does, but put off.
  bool puts_off(std::uint32_t slot) const noexcept;
  // Instead of release(): the lane gives such a block back by this operation. Its stack is the maker's. The
  // part's number.
  std::size_t put_off(std::uint32_t lane, std::uint64_t now_ns, const Operation& operation,
                      std::uint32_t stack);
  // What it has put off; who takes it tells by freed().
  WaitingFrees& waiting() noexcept { return waiting_; }
  void freed(const WaitingFree& free, bool by_caller) noexcept;
  // The lane ends a phase.
  void end_phase(std::uint32_t lane, const std::string& name);
  // The blocks so far were made one after the other, whoever made them before a window.
  void begin_window() noexcept { growth_.forget(); }
  // Where what is learned of the slot's block has to be written: to the operation that made it, where the
  // later ones do nothing, otherwise to the own one.
  Maker maker_of(std::uint32_t slot, const Maker& own) const noexcept;
  // The end of the recording: what became of it is in the header. Throws trace::TraceError when a part was
  // for nothing.
  void finish(Header& header);

 private:
  struct Block {
    std::uint64_t operation = 0;  // that made it; with reserve, its first block
    std::uint64_t largest = 0;    // of its sizes so far
    std::uint64_t size = 0;       // now
    std::uint64_t asked = 0;      // the sum of its sizes
    std::uint64_t address = 0;
    std::uint32_t lane = 0;
    std::uint8_t part = 0;  // its number plus one; 0: not changed
    std::uint8_t kind = 0;  // of the operation that made it
    bool is_moved = false;
    bool is_shared = false;  // moved by another lane than its maker's
  };
  struct Arena {
    std::uint64_t live = 0;
    bool is_left = false;              // emptied by another thread
    std::vector<std::uint32_t> slots;  // of the phase's blocks so far
  };
  // An operation that moved a block, as it was.
  struct Move {
    std::uint64_t operation = 0;
    std::uint8_t kind = 0;
  };
  // Of an exit_policy's part: a release after its last block so far.
  struct LastRelease {
    std::uint64_t operation = 0;
    std::uint64_t bytes = 0;
    std::uint32_t lane = 0;
  };

  Block& block_of(std::uint32_t slot);
  Change change_of(const Block& block) const noexcept { return request_.parts[block.part - 1U].change; }
  ChangeCounts& counts_of(const Block& block) noexcept { return counts_[block.part - 1U]; }
  Arena& arena_of(const Block& block) noexcept {
    return arenas_[block.lane * request_.parts.size() + block.part - 1];
  }
  void serve(const Block& block, std::uint8_t serving, Operation& operation) const noexcept;

  void begin(std::uint32_t lane, Block& block, Operation& operation);
  void begin_served(Block& block, Operation& operation);
  void move(std::uint32_t lane, Block& block, Operation& operation);
  void move_served(std::uint32_t lane, Block& block, Operation& operation);
  void move_inside(Block& block, Operation& operation);
  void release_served(std::uint32_t lane, Block& block, Operation& operation);
  void release_in_arena(std::uint32_t lane, const Block& block, Operation& operation);
  void release_reserved(std::uint32_t lane, const Block& block, Operation& operation);
  void take_over(const Block& old, std::uint32_t old_slot, std::uint32_t new_slot);
  void leave_to_heap(std::uint32_t slot, Block& block);
  bool leave_arena(const Block& block);
  void settle(const Block& block);
  void reset_arena(std::uint32_t lane, std::size_t part);
  void drop_last_releases(std::size_t part);
  void check(std::size_t part) const;

  const ChangeRequest& request_;
  PlanWriter& writer_;
  TouchedPages& touched_;
  std::vector<Arena> arenas_;                                   // by lane and part
  std::vector<Block> blocks_;                                   // by slot
  std::unordered_map<std::uint32_t, std::vector<Move>> moves_;  // by slot: of served blocks
  GrowthByCopies growth_;
  WaitingFrees waiting_;
  std::array<std::uint64_t, most_parts> waiting_bytes_{};
  std::array<std::vector<LastRelease>, most_parts> last_releases_;
  std::set<std::string> ended_phases_;  // a few, for who named another one
  std::array<GrowthByCopies::Replaced, most_parts> replaced_;
  std::array<ChangeCounts, most_parts> counts_;
};

}  // namespace heapwright::replay
