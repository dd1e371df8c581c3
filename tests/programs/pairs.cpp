// SPDX-License-Identifier: MIT
// pairs COUNT DEPTH THREADS: malloc/free pairs at a call depth, on each of
// THREADS threads; says the nanoseconds per pair. What the benchmark runs.
#include <chrono>
#include <thread>
#include <vector>

#include "say.hpp"

namespace {

[[gnu::noinline]] void run_at_depth(int depth, long count) {
  if (depth > 1) {
    run_at_depth(depth - 1, count);
    keep(nullptr);
    return;
  }
  for (long i = 0; i < count; ++i) std::free(keep(std::malloc(static_cast<std::size_t>(16 + (i & 127)))));
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 1'000'000;
  const int depth = argc > 2 ? std::atoi(argv[2]) : 7;
  const int thread_count = argc > 3 ? std::atoi(argv[3]) : 1;
  run_at_depth(depth, 1000);
  const auto begin = std::chrono::steady_clock::now();
  if (thread_count == 1) {
    run_at_depth(depth, count);
  } else {
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; ++i) threads.emplace_back(run_at_depth, depth, count);
    for (auto& thread : threads) thread.join();
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  say("note ns_per_pair %.2f\n", spent.count() / static_cast<double>(count * thread_count));
  return 0;
}
