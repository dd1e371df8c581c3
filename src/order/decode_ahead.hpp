// SPDX-License-Identifier: MIT
// Makes pieces (decoded chunks, ready for the merge) ahead of their use, in the order of the schedule. The
// consumer helps: if the piece it waits for is not ready and no thread has begun the next one, it makes that
// one itself, so that decoding and merging share the cores whatever each of them costs. If used pieces need
// finishing work, it is done as soon as a thread has time, before further pieces are made.
//
// Invariant: taken_ <= claimed_ <= taken_ + window.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "order/schedule.hpp"

namespace heapwright::order {

template <class Piece>
class DecodeAhead {
 public:
  // make(worker, job, first_event, piece): fills `piece` from the job's events from `first_event` on. Worker
  // 0 is the consumer; workers 1..workers run in their own threads. May throw.
  using Make = std::function<void(unsigned, const ScheduledChunk&, std::uint32_t, Piece&)>;
  // finish(worker, piece): finishing work, after the consumer has used the piece.
  using Finish = std::function<void(unsigned, Piece&)>;

  DecodeAhead(
      const Schedule& schedule, unsigned workers, Make make, Finish finish = [](unsigned, Piece&) {})
      : schedule_(schedule), make_(std::move(make)), finish_(std::move(finish)) {
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
    auto& slot = slots_[taken_ % window];
    while (!slot.is_ready) {
      if (failure_) {
        std::rethrow_exception(failure_);
      }
      if (!work(0, lock)) {
        changed_.wait(lock);
      }
    }
    slot.is_ready = false;
    auto piece = std::move(slot.piece);
    ++taken_;
    pieces_ahead_ = claimed_ - taken_;
    lock.unlock();
    changed_.notify_one();
    return piece;
  }

  // Pieces made, or being made, when the last one was taken. If there are many, the consumer is the
  // bottleneck. Only for the consumer.
  std::size_t pieces_ahead() const noexcept { return pieces_ahead_; }

  // Continues a piece that holds only part of its chunk.
  void refill(Piece& piece, std::uint32_t first_event) {
    finish_(0, piece);
    make_(0, *piece.job, first_event, piece);
  }

  // Takes back a used piece.
  void recycle(std::unique_ptr<Piece> piece) {
    {
      const std::lock_guard lock(mutex_);
      used_.push_back(std::move(piece));
    }
    changed_.notify_one();
  }

  // Waits until all used pieces are finished. Precondition: all were taken and returned.
  void finish() {
    std::unique_lock lock(mutex_);
    while (work(0, lock) || busy_ != 0) {
      if (used_.empty() && busy_ != 0) {
        changed_.wait(lock);
      }
    }
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  // Pieces ahead. Some parts of a trace take longer to merge than to make, others the reverse: with few
  // pieces in between, a thread would wait in either.
  static constexpr std::size_t window = 32;

  struct Slot {
    std::unique_ptr<Piece> piece;
    bool is_ready = false;
  };

  bool can_claim() const { return claimed_ < schedule_.jobs.size() && claimed_ < taken_ + window; }

  // Finishes or makes one piece; false when there is nothing to do.
  bool work(unsigned worker, std::unique_lock<std::mutex>& lock) {
    if (!used_.empty()) {
      finish_one(worker, lock);
      return true;
    }
    if (can_claim()) {
      make_next(worker, lock);
      return true;
    }
    return false;
  }

  void finish_one(unsigned worker, std::unique_lock<std::mutex>& lock) {
    auto piece = std::move(used_.back());
    used_.pop_back();
    do_unlocked(lock, [&] { finish_(worker, *piece); });
    if (spare_.size() < window) {
      spare_.push_back(std::move(piece));
    }
    changed_.notify_all();
  }

  void make_next(unsigned worker, std::unique_lock<std::mutex>& lock) {
    const auto index = claimed_++;
    std::unique_ptr<Piece> piece;
    if (!spare_.empty()) {
      piece = std::move(spare_.back());
      spare_.pop_back();
    }
    const bool is_made = do_unlocked(lock, [&] {
      if (!piece) {
        piece = std::make_unique<Piece>();
      }
      piece->job = &schedule_.jobs[index];
      make_(worker, schedule_.jobs[index], 0, *piece);
    });
    if (is_made) {
      slots_[index % window] = {std::move(piece), true};
    }
    changed_.notify_all();
  }

  // False, and the exception is kept, if it threw.
  template <class Work>
  bool do_unlocked(std::unique_lock<std::mutex>& lock, Work&& do_work) {
    ++busy_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      do_work();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --busy_;
    failure_ = failure ? failure : failure_;
    return !failure;
  }

  void run(unsigned worker) {
    std::unique_lock lock(mutex_);
    while (!is_stopping_ && !failure_) {
      if (!work(worker, lock)) {
        changed_.wait(lock);
      }
    }
  }

  const Schedule& schedule_;
  const Make make_;
  const Finish finish_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Slot, window> slots_;
  std::vector<std::unique_ptr<Piece>> used_;
  std::vector<std::unique_ptr<Piece>> spare_;
  unsigned busy_ = 0;  // threads that make or finish a piece
  std::size_t claimed_ = 0;
  std::size_t taken_ = 0;
  std::size_t pieces_ahead_ = 0;
  bool is_stopping_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;  // last: they use everything above
};

}  // namespace heapwright::order
