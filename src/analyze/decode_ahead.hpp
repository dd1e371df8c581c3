// SPDX-License-Identifier: MIT
// Makes pieces (decoded chunks, ready for the merge) ahead of their use, in
// the order of the schedule. The consumer helps: when the piece it waits for
// is not ready and nobody has begun the next one, it makes that one itself,
// so that decoding and merging share the cores whatever each of them costs.
//
// Invariant: taken_ <= claimed_ <= taken_ + window_.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "analyze/schedule.hpp"

namespace heapwright::analyze {

template <class Piece>
class DecodeAhead {
 public:
  // make(worker, job, first_event, piece): fills `piece` from the job's
  // events from `first_event` on. Worker 0 is the consumer; workers
  // 1..workers run in threads of their own. May throw.
  using Make = std::function<void(unsigned, const ScheduledChunk&, std::uint32_t, Piece&)>;

  DecodeAhead(const Schedule& schedule, unsigned workers, Make make)
      : schedule_(schedule), make_(std::move(make)), window_(workers * 3 + 2), slots_(window_) {
    threads_.reserve(workers);
    for (unsigned worker = 1; worker <= workers; ++worker) {
      threads_.emplace_back([this, worker] { run(worker); });
    }
  }

  ~DecodeAhead() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) {
      thread.join();
    }
  }

  DecodeAhead(const DecodeAhead&) = delete;
  DecodeAhead& operator=(const DecodeAhead&) = delete;

  // The piece of the next job, in order. Precondition: not all are taken.
  std::unique_ptr<Piece> take() {
    std::unique_lock lock(mutex_);
    auto& slot = slots_[taken_ % window_];
    while (!slot.is_ready) {
      if (failure_) {
        std::rethrow_exception(failure_);
      }
      if (can_claim()) {
        make_next(0, lock);
      } else {
        changed_.wait(lock);
      }
    }
    slot.is_ready = false;
    auto piece = std::move(slot.piece);
    ++taken_;
    lock.unlock();
    changed_.notify_one();
    return piece;
  }

  // Continues a piece that holds only a part of its chunk.
  void refill(Piece& piece, std::uint32_t first_event) { make_(0, *piece.job, first_event, piece); }

  // Gives a piece's memory back for reuse.
  void recycle(std::unique_ptr<Piece> piece) {
    const std::lock_guard lock(mutex_);
    if (spare_.size() < window_) {
      spare_.push_back(std::move(piece));
    }
  }

 private:
  struct Slot {
    std::unique_ptr<Piece> piece;
    bool is_ready = false;
  };

  bool can_claim() const { return claimed_ < schedule_.jobs.size() && claimed_ < taken_ + window_; }

  void make_next(unsigned worker, std::unique_lock<std::mutex>& lock) {
    const auto index = claimed_++;
    std::unique_ptr<Piece> piece;
    if (!spare_.empty()) {
      piece = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (!piece) {
        piece = std::make_unique<Piece>();
      }
      piece->job = &schedule_.jobs[index];
      make_(worker, schedule_.jobs[index], 0, *piece);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      failure_ = failure;
    } else {
      slots_[index % window_] = {std::move(piece), true};
    }
    changed_.notify_all();
  }

  void run(unsigned worker) {
    std::unique_lock lock(mutex_);
    while (!is_stopping_ && !failure_ && claimed_ < schedule_.jobs.size()) {
      if (can_claim()) {
        make_next(worker, lock);
      } else {
        changed_.wait(lock);
      }
    }
  }

  const Schedule& schedule_;
  const Make make_;
  const std::size_t window_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<Piece>> spare_;
  std::size_t claimed_ = 0;
  std::size_t taken_ = 0;
  bool is_stopping_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;  // last: they use everything above
};

}  // namespace heapwright::analyze
