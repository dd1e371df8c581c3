// SPDX-License-Identifier: MIT
// Merges the lanes' rows into one order of time and returns them as runs: as many consecutive rows of one
// lane as come before any other lane's next row.
//
// A lane's own order is never changed. Between lanes, rows are ordered by key(row): the time in quanta of 16
// ns (the trace's resolution), and releases before acquisitions within a quantum, so that an address that one
// thread frees and another gets is free in between.
//
// Only chunks that span the current time are held decoded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "order/decode_ahead.hpp"
#include "order/schedule.hpp"

namespace heapwright::order {

inline constexpr std::uint64_t merge_key(std::uint64_t time_ns, bool is_acquisition) noexcept {
  return ((time_ns >> 4) << 1) | (is_acquisition ? 1U : 0U);
}

// Piece: `job`, `count()` rows, `key(row)`, and `next_event()`: number of events of the chunk used so far (==
// chunk count if nothing is left).
template <class Piece>
struct Run {
  std::uint32_t lane = 0;
  Piece* piece = nullptr;
  std::size_t from = 0;
  std::size_t to = 0;
};

template <class Piece>
class Merge {
 public:
  Merge(const Schedule& schedule, DecodeAhead<Piece>& ahead)
      : schedule_(schedule), ahead_(ahead), lanes_(schedule.thread_of_lane.size()) {}

  // The next run in order of time; false at the end. The run's piece is valid until the next call.
  bool next(Run<Piece>& run) {
    settle();
    while (is_chunk_due()) {
      load();
    }
    if (heap_.empty()) {
      return false;
    }
    const auto lane = heap_.front().lane;
    auto& cursor = lanes_[lane];
    auto& piece = *cursor.pieces.front();
    run = {lane, &piece, cursor.row, run_end(piece, cursor.row, limit())};
    cursor.row = run.to;
    return true;
  }

  std::size_t chunks_loaded() const noexcept { return loaded_; }

 private:
  struct Cursor {
    std::deque<std::unique_ptr<Piece>> pieces;  // more than one only at chunk boundaries
    std::size_t row = 0;
  };
  struct Head {
    std::uint64_t key;
    std::uint32_t lane;
  };

  static constexpr std::size_t short_run = 16;

  std::uint64_t chunk_key() const noexcept {
    return loaded_ < schedule_.jobs.size() ? merge_key(schedule_.jobs[loaded_].chunk->first_begin_ns, false)
                                           : UINT64_MAX;
  }

  bool is_chunk_due() const noexcept {
    return loaded_ < schedule_.jobs.size() && (heap_.empty() || chunk_key() <= heap_.front().key);
  }

  std::uint64_t limit() const noexcept {
    auto lowest = chunk_key();
    if (heap_.size() > 1) {
      lowest = std::min(lowest, heap_[1].key);
    }
    if (heap_.size() > 2) {
      lowest = std::min(lowest, heap_[2].key);
    }
    return lowest;
  }

  static std::size_t run_end(const Piece& piece, std::size_t from, std::uint64_t limit_key) {
    const auto count = piece.count();
    if (limit_key == UINT64_MAX) {
      return count;
    }
    if (piece.key(count - 1) <= limit_key) {
      return count;
    }
    auto row = from + 1;
    const auto near = std::min(count, row + short_run);
    while (row < near && piece.key(row) <= limit_key) {
      ++row;
    }
    if (row < near) {
      return row;
    }
    // Keys rise, except for neighbours within a quantum.
    auto beyond = count;
    while (row < beyond) {
      const auto middle = row + (beyond - row) / 2;
      if (piece.key(middle) <= limit_key) {
        row = middle + 1;
      } else {
        beyond = middle;
      }
    }
    return row;
  }

  // Restores the heap order after the rows of the last run were used.
  void settle() {
    if (heap_.empty()) {
      return;
    }
    auto& head = heap_.front();
    auto& cursor = lanes_[head.lane];
    if (cursor.row == cursor.pieces.front()->count() && !advance(cursor)) {
      head = heap_.back();
      heap_.pop_back();
    } else {
      head.key = cursor.pieces.front()->key(cursor.row);
    }
    sift_down();
  }

  // Moves on to the lane's next rows; false when none are decoded.
  bool advance(Cursor& cursor) {
    while (!cursor.pieces.empty()) {
      auto& piece = *cursor.pieces.front();
      while (piece.next_event() < piece.job->chunk->count) {
        ahead_.refill(piece, piece.next_event());
        cursor.row = 0;
        if (piece.count() != 0) {
          return true;
        }
      }
      ahead_.recycle(std::move(cursor.pieces.front()));
      cursor.pieces.pop_front();
      cursor.row = 0;
      if (!cursor.pieces.empty() && cursor.pieces.front()->count() != 0) {
        return true;
      }
    }
    return false;
  }

  void load() {
    const auto lane = schedule_.jobs[loaded_++].lane;
    auto& cursor = lanes_[lane];
    const bool was_idle = cursor.pieces.empty();
    cursor.pieces.push_back(ahead_.take());
    if (!was_idle) {
      return;
    }
    cursor.row = 0;
    if (cursor.pieces.front()->count() == 0 && !advance(cursor)) {
      return;
    }
    heap_.push_back({cursor.pieces.front()->key(0), lane});
    std::push_heap(heap_.begin(), heap_.end(), is_later);
  }

  static bool is_later(const Head& a, const Head& b) noexcept {
    return a.key != b.key ? a.key > b.key : a.lane > b.lane;
  }

  void sift_down() {
    std::size_t at = 0;
    while (true) {
      auto child = at * 2 + 1;
      if (child >= heap_.size()) {
        return;
      }
      if (child + 1 < heap_.size() && is_later(heap_[child], heap_[child + 1])) {
        ++child;
      }
      if (!is_later(heap_[at], heap_[child])) {
        return;
      }
      std::swap(heap_[at], heap_[child]);
      at = child;
    }
  }

  const Schedule& schedule_;
  DecodeAhead<Piece>& ahead_;
  std::vector<Cursor> lanes_;
  std::vector<Head> heap_;
  std::size_t loaded_ = 0;
};

}  // namespace heapwright::order
