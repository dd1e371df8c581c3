// SPDX-License-Identifier: MIT
// Something being read in a thread of its own, so that Python can import what
// it needs meanwhile. Knows nothing of Python.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <utility>

namespace heapwright::python_module {

// Made and used by one thread. The end of its life stops the reading at the
// next report of progress.
template <class Result>
class BackgroundReading {
 public:
  // What the reading calls now and then with what is done and what there is
  // in all; throws when it is to stop.
  using Report = std::function<void(std::uint64_t, std::uint64_t)>;

  // read: Result(Report), called in the new thread.
  template <class Read>
  explicit BackgroundReading(Read read)
      : result_(std::async(std::launch::async, [this, read = std::move(read)]() mutable {
          return read([this](std::uint64_t done, std::uint64_t all) { report(done, all); });
        })) {}
  ~BackgroundReading() { is_stopping_ = true; }
  BackgroundReading(const BackgroundReading&) = delete;
  BackgroundReading& operator=(const BackgroundReading&) = delete;

  // False when it is not done after `wait`. Precondition: not taken.
  bool is_done(std::chrono::milliseconds wait) const {
    return result_.wait_for(wait) == std::future_status::ready;
  }
  std::uint64_t done() const noexcept { return done_; }
  std::uint64_t all() const noexcept { return all_; }
  // Waits; once only. Throws what the reading threw.
  Result take() { return result_.get(); }

 private:
  struct Stopped {};

  void report(std::uint64_t done, std::uint64_t all) {
    if (is_stopping_) throw Stopped{};
    all_ = all;
    done_ = done;
  }

  std::atomic<bool> is_stopping_ = false;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::uint64_t> all_ = 0;
  std::future<Result> result_;  // last: its end waits for the thread, which uses the above
};

}  // namespace heapwright::python_module
