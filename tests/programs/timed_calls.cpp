// SPDX-License-Identifier: MIT
// Some ms of heap calls in some threads; a free and a malloc stand between two readings of the thread's
// processor time. Says what the calls took on the processor, and the process as a whole. Every other block
// is mapped, and touched, so that most of the time between two readings is the calls'.
// Arguments: threads, milliseconds; on a busy machine it takes longer, for enough calls.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "say.hpp"

namespace {

long clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

long processor_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

long cost_of_reading() {
  std::array<long, 101> costs{};
  for (long& cost : costs) {
    const long begin_ns = processor_ns();
    cost = processor_ns() - begin_ns;
  }
  std::nth_element(costs.begin(), costs.begin() + costs.size() / 2, costs.end());
  return costs[costs.size() / 2];
}

long called_ns(long until_ns, unsigned least_rounds) {
  constexpr std::size_t page_bytes = 4096;
  const long reading_ns = cost_of_reading();
  long sum_ns = 0;
  std::array<char*, 64> blocks{};
  for (unsigned round = 0; round < least_rounds || clock_ns(CLOCK_MONOTONIC) < until_ns; ++round) {
    char*& block = blocks[round * 37 % blocks.size()];
    const bool is_mapped = round % 2 == 0;
    const std::size_t bytes = is_mapped ? 64 * page_bytes : 1000 + round * 7919 % 90'000;
    const long begin_ns = processor_ns();
    std::free(block);
    block = static_cast<char*>(std::malloc(bytes));
    sum_ns += processor_ns() - begin_ns - reading_ns;
    if (block == nullptr) std::_Exit(112);
    for (std::size_t at = 0; is_mapped && at < bytes; at += page_bytes) block[at] = 1;
  }
  for (char* block : blocks) std::free(block);
  return sum_ns;
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 200'000);  // which stays: freeing such a block does not raise it
  const auto count = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 2);
  const long until_ns = clock_ns(CLOCK_MONOTONIC) + (argc > 2 ? std::atol(argv[2]) : 500) * 1'000'000;
  const auto least_rounds = static_cast<unsigned>(30'000 / count);
  std::vector<long> sums(count);
  std::vector<std::thread> threads;
  for (long& sum : sums)
    threads.emplace_back([&sum, until_ns, least_rounds] { sum = called_ns(until_ns, least_rounds); });
  for (std::thread& thread : threads) thread.join();
  long sum_ns = 0;
  for (const long sum : sums) sum_ns += sum;
  say("note called_ns %ld\nnote processor_ns %ld\n", sum_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
}
