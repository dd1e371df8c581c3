// SPDX-License-Identifier: MIT
// Reads something in a separate thread, so that Python can import what it needs meanwhile. Independent of
// Python.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <utility>

namespace heapwright::python_module {

// Created and used by one thread. Its destructor stops the reading at the next progress report.
template <class Result>
class BackgroundReading {
 public:
  // Called by the reading occasionally, with the amount done and the total; throws to stop it.
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

  // False if it is not done after `wait`. Precondition: not taken.
  bool is_done(std::chrono::milliseconds wait) const {
    return result_.wait_for(wait) == std::future_status::ready;
  }
  std::uint64_t done() const noexcept { return done_; }
  std::uint64_t all() const noexcept { return all_; }
  // Waits; call only once. Rethrows what the reading threw.
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
  std::future<Result> result_;  // last: its destructor waits for the thread, which uses the above
};

}  // namespace heapwright::python_module
