// SPDX-License-Identifier: MIT
// Changes a plan's operations on the blocks of chosen call sites while the plan is written. A block belongs
// to the site that first allocated it, whoever reallocates it later.
//
// An arena or a node_pool belongs to one thread: each thread that allocates blocks of these sites has its
// own. A block that another thread reallocates is served by the heap from its start.
//   arena         a free does nothing. When none of a thread's blocks are live any more, that thread
//                 resets its arena: at once, or before its next block if another thread freed the last
//                 one. With a phase: when the thread ends that phase; blocks that outlive it are served
//                 by the heap.
//   node_pool     a block that another thread frees is served by the heap.
//   buffer_cache  each thread allocates from and frees to its own cache.
//   reserve       a block has its largest size from the start, and its steps of growth do nothing: reallocs,
//                 and new blocks of the same part that replace it (growth_by_copies.hpp).
//   small_vector  blocks of up to N bytes do not exist.
//   segregate     blocks come from a separate heap, shared by all threads.
//   deferred_free blocks are freed later, by another thread (waiting_frees.hpp).
//   exit_policy   blocks that are freed after the last allocation of this part are never freed.
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
  // An operation of a lane, by its number.
  struct Maker {
    std::uint32_t lane = 0;
    std::uint64_t operation = 0;
  };

  // All arguments must outlive it.
  ChangeMarker(const ChangeRequest& request, std::size_t lanes, PlanWriter& writer, TouchedPages& touched)
      : request_(request),
        writer_(writer),
        touched_(touched),
        arenas_(lanes * request.parts.size()),
        growth_(lanes),
        waiting_(request, lanes) {}

  bool is_idle() const noexcept { return request_.parts.empty(); }

  // The lane's next operation, which allocates a block at the address or moves one there.
  void make(std::uint32_t lane, std::uint32_t stack, std::uint64_t address, Operation& operation);
  // The lane's next operation, which frees a block.
  void release(std::uint32_t lane, Operation& operation);
  // Whether the free of the slot's block is deferred.
  bool is_deferred(std::uint32_t slot) const noexcept;
  // Used instead of release(): the operation by which the lane frees such a block, with the allocating call's
  // stack. Returns the part's number.
  std::size_t defer_free(std::uint32_t lane, std::uint64_t now_ns, const Operation& operation,
                         std::uint32_t stack);
  // The deferred frees; the caller reports each by freed().
  WaitingFrees& waiting() noexcept { return waiting_; }
  void freed(const WaitingFree& free, bool by_caller) noexcept;
  // The operation by which a lane gives free memory back, of the trim with this number.
  Operation trim(std::size_t part) noexcept;
  // The lane ends a phase.
  void end_phase(std::uint32_t lane, const std::string& name);
  // The blocks so far were allocated one after the other, whichever lane allocated them before a window.
  void begin_window() noexcept { growth_.forget(); }
  // The operation that gets what is learned about the slot's block: the allocating one, if later ones do
  // nothing, otherwise `own`.
  Maker maker_of(std::uint32_t slot, const Maker& own) const noexcept;
  // The end of the recording: writes the results to the header. Throws trace::TraceError if a part had no
  // effect.
  void finish(Header& header);

 private:
  struct Block {
    std::uint64_t operation = 0;  // that allocated it; with reserve, its first block
    std::uint64_t largest = 0;    // size so far
    std::uint64_t size = 0;       // current size
    std::uint64_t asked = 0;      // the sum of its sizes
    std::uint64_t address = 0;
    std::uint32_t lane = 0;
    std::uint8_t part = 0;  // part number plus one; 0: not changed
    std::uint8_t kind = 0;  // of the operation that allocated it
    bool is_moved = false;
    bool is_shared = false;  // moved by a lane other than the allocating one
  };
  struct Arena {
    std::uint64_t live = 0;
    bool is_left = false;              // emptied by another thread
    std::vector<std::uint32_t> slots;  // of the phase's blocks so far
  };
  // An operation that moved a block, in its original form.
  struct Move {
    std::uint64_t operation = 0;
    std::uint8_t kind = 0;
  };
  // For exit_policy: a free after the part's last block so far.
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
  void leave_own_heap(Block& block, Operation& operation) const;
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
  std::unordered_map<std::uint32_t, std::vector<Move>> moves_;  // by slot, for served blocks
  GrowthByCopies growth_;
  WaitingFrees waiting_;
  std::array<std::uint64_t, most_parts> waiting_bytes_{};
  std::array<std::vector<LastRelease>, most_parts> last_releases_;
  std::set<std::string> ended_phases_;  // a few, to list if another one was requested
  std::array<GrowthByCopies::Replaced, most_parts> replaced_;
  std::array<ChangeCounts, most_parts> counts_;
};

}  // namespace heapwright::replay
