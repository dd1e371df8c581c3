// SPDX-License-Identifier: MIT
// The work that calls put off: free runs that have waited long enough go back
// to the system, pooled slabs lose their free pages, caches of threads that
// ended and heaps that were destroyed are taken apart.
//
// It is done in small pieces, by the program's own calls where they are slow
// anyway, and where that is allowed by a thread on top (maintenance_thread.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/base/waiting.hpp"

namespace heapwright::heap {

class Lock;

// Up to `budget` pieces of work that are `least_age` ticks old; how many there were.
std::size_t maintain(std::size_t budget, std::uint16_t least_age) noexcept;

// From calls that are slow anyway and hold no lock: one piece, at most 64 KiB of
// pages, on average every 4 ms (more often while much waits), unless the thread does it; and while the heap
// grows though much of it is sparse, one for each new unit.
void give_back_piece() noexcept;
inline void give_back_if_due() noexcept {
  if (waiting.is_there.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    give_back_piece();
  }
}

// Before a huge block is freed: up to four times as many bytes that have waited longest go back, in a
// bounded number of pieces, if its own may stay then. A block of the same size comes soon where such blocks
// come and go.
void make_room_for_dirty(std::size_t bytes) noexcept;

// For the thread: up to `most` pieces that are due. True: memory waits that was not due.
struct MaintenanceResult {
  std::size_t pieces;
  bool is_waiting;
  bool has_surplus;
};
MaintenanceResult run_due_maintenance(std::size_t most) noexcept;
// How long memory rests.
std::uint16_t decay_ticks() noexcept;

// While it lives, no maintenance goes on, and no slab is between two steps of it:
// the records agree, and sums are exact.
class MaintenancePause {
 public:
  MaintenancePause() noexcept;
  ~MaintenancePause();
  MaintenancePause(const MaintenancePause&) = delete;
  MaintenancePause& operator=(const MaintenancePause&) = delete;
};

Lock& maintenance_lock() noexcept;

}  // namespace heapwright::heap
