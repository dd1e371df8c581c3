// SPDX-License-Identifier: MIT
// Frees that a change defers, as a heapwright::deferred_free with a background thread does. A row, that is a
// thread's consecutive frees without an allocation between them, is one entry: an object with all that it
// owns. It waits for the part's time; then another thread frees it. A queue holds as many entries as the part
// allows; when it is full, the thread itself frees the oldest ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "replay/change.hpp"
#include "replay/plan.hpp"

namespace heapwright::replay {

struct WaitingFree {
  Operation operation;  // its generation is not known yet
  std::uint32_t stack = 0;
  std::uint32_t part = 0;
  bool begins_row = false;
  std::uint64_t due_ns = 0;  // of its row
};

class WaitingFrees {
 public:
  // The request must outlive it.
  WaitingFrees(const ChangeRequest& request, std::size_t lanes);

  // When the oldest ones are due; UINT64_MAX: none waits.
  std::uint64_t next_ns() const noexcept { return next_ns_; }

  // The lane allocates a block.
  void end_row(std::uint32_t lane) noexcept;
  // Its operation, stack and part are filled in. Returns whether it begins a row.
  bool put(std::uint32_t lane, std::uint64_t now_ns, WaitingFree free);
  // Whether rows must be freed before the lane continues.
  bool is_too_full(std::uint32_t lane, std::size_t part) const noexcept;

  // Each takes the entries that its name says, the oldest first, and calls free(WaitingFree).
  template <class Free>
  void take_due(std::uint64_t now_ns, Free free) {
    for (Queue& queue : queues_) {
      while (queue.rows > 0 && queue.frees.front().due_ns <= now_ns) take_row(queue, free);
    }
    find_next();
  }
  template <class Free>
  void take_oldest(std::uint32_t lane, std::size_t part, Free free) {
    Queue& queue = queue_of(lane, part);
    for (std::size_t row = 0; row < rows_at_once && queue.rows > 0; ++row) take_row(queue, free);
    find_next();
  }
  template <class Free>
  void take_all_of(std::uint32_t lane, Free free) {
    for (std::size_t part = 0; part < parts_; ++part) {
      Queue& queue = queue_of(lane, part);
      while (queue.rows > 0) take_row(queue, free);
    }
    find_next();
  }

 private:
  static constexpr std::size_t rows_at_once = 64;  // heapwright::deferred_free's own number

  struct Queue {
    std::deque<WaitingFree> frees;
    std::size_t rows = 0;
    bool is_row_open = false;
  };

  Queue& queue_of(std::uint32_t lane, std::size_t part) noexcept { return queues_[lane * parts_ + part]; }
  void find_next() noexcept;

  template <class Free>
  static void take_row(Queue& queue, Free& free) {
    do {
      const WaitingFree oldest = queue.frees.front();
      queue.frees.pop_front();
      free(oldest);
    } while (!queue.frees.empty() && !queue.frees.front().begins_row);
    --queue.rows;
  }

  const ChangeRequest& request_;
  std::size_t parts_;
  std::vector<Queue> queues_;  // by lane and part; empty if no part defers frees
  std::uint64_t next_ns_ = UINT64_MAX;
};

}  // namespace heapwright::replay
