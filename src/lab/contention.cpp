// SPDX-License-Identifier: MIT
// Question: how often do two threads contend for the allocator's locks?
// Load: --threads threads run the fragmenting load, each --iterations times; on their own slots, or (--slots
// shared) on common ones, where half of the frees are for blocks that another thread allocated.
// Figures: contentions per second: how often the working threads gave up their CPU because they had to wait
// (RUSAGE_THREAD's voluntary context switches). The load itself never sleeps, so each wait is for a lock: the
// allocator's own, or the kernel's mmap lock when the allocator maps and unmaps. A spinning lock is not seen
// by this, but by the second figure: the rate of all threads together divided by the rate of one thread times
// their number.
#include <atomic>
#include <optional>

#include "figures/process_figures.hpp"
#include "lab/experiment.hpp"
#include "lab/fragmenting_load.hpp"
#include "lab/threads.hpp"
#include "lab/work_span.hpp"

namespace heapwright::lab {
namespace {

constexpr Parameter parameters[] = {
    {"iterations", "3200000", true}, {"threads", "2"}, {"slots", "own"}, {"class-bytes", "1048576"}};

std::uint64_t needed_bytes(const Options& options) {
  return options.count("class-bytes") * fragmenting_sizes.size() * 4 * options.count("threads");
}

struct Outcome {
  double seconds;
  double waits;
  double rate;  // operations per second, all threads
};

// `loads` holds one load per thread, or one for all.
Outcome measure(std::array<std::optional<FragmentingLoad>, max_threads>& loads, std::size_t threads,
                bool is_shared, std::uint64_t iterations, std::uint64_t seed) {
  Barrier barrier(threads);
  WorkSpan span(threads);
  std::atomic<std::uint64_t> waits = 0;
  const auto work = [&](std::size_t thread) {
    Random random(seed * max_threads + thread);
    FragmentingLoad& load = *loads[is_shared ? 0 : thread];
    barrier.wait();
    const std::uint64_t before = figures::thread_voluntary_switches();
    span.run(thread, [&] { is_shared ? load.run_shared(iterations, random) : load.run(iterations, random); });
    waits += figures::thread_voluntary_switches() - before;
  };
  run_threads(threads, work, [] {});
  const auto operations = static_cast<double>(iterations * threads);
  const double rate = figures::possible_rate("operations_per_s", operations, span.elapsed_ns(), threads);
  return {static_cast<double>(span.elapsed_ns()) / 1e9, static_cast<double>(waits.load()), rate};
}

void run(const Options& options, figures::Report& report) {
  const std::uint64_t iterations = options.count("iterations");
  const std::size_t threads = options.count("threads");
  if (threads == 0 || threads > max_threads) figures::refuse("--threads takes 1 to %zu", max_threads);
  const bool is_shared = options.choice("slots", {"own", "shared"}) == 1;
  std::array<std::optional<FragmentingLoad>, max_threads> loads;
  for (std::size_t i = 0; i < (is_shared ? 1 : threads); ++i) {
    loads[i].emplace(options.count("class-bytes"), options.seed() + i);
  }
  const Outcome together = measure(loads, threads, is_shared, iterations, options.seed());
  const Outcome alone = measure(loads, 1, is_shared, iterations, options.seed() + 1);
  report.figure("collisions_per_s", together.waits / together.seconds);
  report.figure("scaling_ratio", together.rate / (alone.rate * static_cast<double>(threads)));
  report.figure("operations_per_s", together.rate);
  report.figure("seconds", together.seconds);
}

}  // namespace

const Experiment contention_experiment{"contention", parameters, needed_bytes, run};

}  // namespace heapwright::lab
