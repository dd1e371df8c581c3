// SPDX-License-Identifier: MIT
// Threads that start each stage together and do not use the heap during one (std::barrier would).
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <thread>

#include "lab/options.hpp"

namespace heapwright::lab {

constexpr std::size_t max_threads = 64;

class Barrier {
 public:
  explicit Barrier(std::size_t threads) noexcept {
    pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(threads));
  }
  ~Barrier() { pthread_barrier_destroy(&barrier_); }
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;
  void wait() noexcept { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

// Runs work(0) … work(count - 1), each in its own thread, and `meanwhile` in the calling one. Returns when
// all have ended.
template <typename Work, typename Meanwhile>
void run_threads(std::size_t count, const Work& work, const Meanwhile& meanwhile) {
  if (count == 0 || count > max_threads) figures::refuse("--threads takes 1 to %zu", max_threads);
  std::array<std::thread, max_threads> threads;
  for (std::size_t i = 0; i < count; ++i) threads[i] = std::thread([&work, i] { work(i); });
  meanwhile();
  for (std::size_t i = 0; i < count; ++i) threads[i].join();
}

}  // namespace heapwright::lab
