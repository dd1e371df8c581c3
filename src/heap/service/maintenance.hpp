// SPDX-License-Identifier: MIT
// Deferred work: returns free runs that have waited long enough and the free pages of
// pooled slabs to the kernel, and dismantles caches of ended threads and destroyed heaps.
//
// It is done in small pieces by the program's slow calls and, where allowed, also by a
// thread (maintenance_thread.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/base/waiting.hpp"

namespace heapwright::heap {

class Lock;

// Does up to `budget` pieces of work that are `least_age` ticks old; returns how many.
std::size_t maintain(std::size_t budget, std::uint16_t least_age) noexcept;

// From slow calls that hold no lock: one piece, at most 64 KiB of pages, on average every 4 ms (more often
// while much waits), unless the thread does it; and while a sparse heap grows, a sparse slab.
void give_back_piece() noexcept;
inline void give_back_if_due() noexcept {
  if (waiting.is_there.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    give_back_piece();
  }
}

// Before a huge block is freed: returns up to four times its size of the oldest dirty runs, in a bounded
// number of pieces, if the block may then stay dirty. Programs that churn huge blocks soon allocate one of
// that size.
void make_room_for_dirty(std::size_t bytes) noexcept;

// For the thread: does up to `most` due pieces. True: memory waits that is not yet due.
struct MaintenanceResult {
  std::size_t pieces;
  bool is_waiting;
  bool has_surplus;
};
MaintenanceResult run_due_maintenance(std::size_t most) noexcept;
// How long free memory is kept.
std::uint16_t decay_ticks() noexcept;

// During its lifetime no maintenance runs and no slab is between two of its steps: the
// metadata is consistent, and sums are exact.
class MaintenancePause {
 public:
  MaintenancePause() noexcept;
  ~MaintenancePause();
  MaintenancePause(const MaintenancePause&) = delete;
  MaintenancePause& operator=(const MaintenancePause&) = delete;
};

Lock& maintenance_lock() noexcept;

}  // namespace heapwright::heap
