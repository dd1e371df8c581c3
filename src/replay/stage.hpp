// SPDX-License-Identifier: MIT
// State shared by both replay orders: the blocks by slot, each lane's operations, and the effect of one
// operation. All of it is in mapped memory that is resident from the start.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "replay/heap_calls.hpp"
#include "replay/plan_file.hpp"
#include "replay/servers.hpp"
#include "replay/slot.hpp"

namespace heapwright::replay {

struct alignas(64) LaneState {
  Stretch<Operation> operations;
  pthread_t thread = {};
  std::atomic<std::uint32_t> word = 0;  // owned by the order
};

class Stage {
 public:
  explicit Stage(const char* path);

  const PlanFile& plan() const noexcept { return plan_; }
  std::uint32_t lane_count() const noexcept { return plan_.header().lanes; }
  LaneState& lane(std::uint32_t number) noexcept { return lanes_[number]; }
  // How much more is resident now than before the replay's first allocation; until the first call, that is
  // its own memory.
  std::uint64_t grown_bytes() const noexcept;

  // The operation's slot. Ends the process when the plan names none.
  Slot& slot_of(const Operation& operation) noexcept {
    if (operation.slot >= slots_.size()) refuse_damaged();
    return slots_[operation.slot];
  }

  // The calling thread runs this lane from now on.
  void enter(std::uint32_t lane) noexcept {
    if (servers_) servers_->enter(lane);
  }
  // Starts the thread of a lane, which runs entry(argument).
  void start(std::uint32_t number, void* (*entry)(void*), void* argument) noexcept;
  void join(std::uint32_t number) noexcept;

 private:
  std::uint64_t before_bytes_ = figures::anonymous_memory().resident_bytes;
  PlanFile plan_;
  figures::MappedArray<Slot> slots_;
  figures::MappedArray<LaneState> lanes_;
  std::size_t window_;  // operations
  figures::MappedArray<Operation> windows_;
  std::optional<Servers> servers_;  // if a change needs them
};

// Performs an operation on its block, without the touching. Precondition: the slot has the operation's
// generation.
inline void call_heap(const Operation& operation, Slot& slot) noexcept {
  const auto kind = operation.event_kind();
  if (trace::is_allocation(kind)) {
    slot.block = make_block(operation, slot.block);
  } else if (trace::is_release(kind) && slot.block != nullptr) {
    release_block(operation, slot.block);
    slot.block = nullptr;
  } else if (operation.is_left_out()) {
    leave_out(operation, slot);
  } else {
    serve(operation, slot);
  }
}

// Writes what the program wrote to the block that the operation allocated.
inline void touch(const Operation& operation, Slot& slot) noexcept {
  const bool is_moved = (operation.generation & 1U) != 0;
  const std::uint64_t from = is_moved ? slot.touched_pages * figures::page_bytes : 0;
  const std::uint64_t to = touched_bytes(operation);
  touch_block(slot.block, from < to ? from : to, to);
  slot.touched_pages = static_cast<std::uint32_t>((to + figures::page_bytes - 1) / figures::page_bytes);
}

// The slot's generation after the operation.
inline std::uint32_t generation_after(const Operation& operation) noexcept {
  return operation.generation + (operation.keeps() ? 2 : 1);
}

// The operation concerns no block.
inline bool has_no_block(const Operation& operation) noexcept {
  return operation.event_kind() == trace::EventKind::malloc_trim_ ||
         operation.event_kind() == trace::EventKind::mallopt_ || operation.serving() == serve_reset;
}

// Precondition: has_no_block(operation).
inline void call_without_block(const Operation& operation) noexcept {
  operation.serving() == serve_reset ? reset_arena(operation) : tune_allocator(operation);
}

}  // namespace heapwright::replay
