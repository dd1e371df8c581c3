// SPDX-License-Identifier: MIT
// Question: does a heap that runs for a long time grow beyond its live blocks, and does it slow down?
// Load: random allocate-or-free of blocks of nine sizes from 169 to 999113 bytes. The number of blocks of
// each size is fixed, so the live set is bounded. Every page of a block is written. --threads threads share
// the iterations; each has its own slots.
// Figures by iteration count, doubling up to --iterations: memory overhead (resident / requested - 1), page
// faults, operations per second since the previous point.
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>

#include "figures/process_figures.hpp"
#include "lab/experiment.hpp"
#include "lab/fragmenting_load.hpp"
#include "lab/threads.hpp"
#include "lab/work_span.hpp"

namespace heapwright::lab {
namespace {

constexpr std::size_t point_count = 9;

constexpr Parameter parameters[] = {
    {"iterations", "25600000", true}, {"threads", "1"}, {"class-bytes", "1048576"}};

struct Points {
  std::array<double, point_count> iterations, overhead, faults, operations_per_s;
};

std::uint64_t needed_bytes(const Options& options) {
  return options.count("class-bytes") * fragmenting_sizes.size() * 4;
}

std::uint64_t iterations_at(std::uint64_t total, std::size_t point) {
  return total >> (point_count - 1 - point);
}

void run(const Options& options, figures::Report& report) {
  const std::uint64_t total = options.count("iterations");
  const std::size_t threads = options.count("threads");
  if (threads == 0 || threads > max_threads) figures::refuse("--threads takes 1 to %zu", max_threads);
  std::array<std::optional<FragmentingLoad>, max_threads> loads;
  for (std::size_t i = 0; i < threads; ++i) {
    loads[i].emplace(options.count("class-bytes") / threads, options.seed() * max_threads + i);
  }
  Barrier barrier(threads + 1);
  WorkSpan span(threads);
  const auto work = [&](std::size_t thread) {
    Random random((options.seed() * max_threads + thread) ^ 0xF00D);
    std::uint64_t done = 0;
    for (std::size_t point = 0; point < point_count; ++point) {
      const std::uint64_t end = iterations_at(total, point) / threads;
      barrier.wait();
      span.run(thread, [&] { loads[thread]->run(end - done, random); });
      barrier.wait();
      done = end;
    }
  };
  figures::MappedArray<Points> kept(1);
  Points& points = kept[0];
  const std::uint64_t before_bytes = figures::resident_bytes();
  const std::uint64_t before_faults = figures::minor_faults();
  run_threads(threads, work, [&] {
    std::uint64_t done = 0;
    for (std::size_t point = 0; point < point_count; ++point) {
      const std::uint64_t end = iterations_at(total, point) / threads * threads;
      barrier.wait();
      barrier.wait();
      double requested_bytes = 0;
      for (std::size_t i = 0; i < threads; ++i) {
        requested_bytes += static_cast<double>(loads[i]->requested_bytes());
      }
      const auto resident = figures::resident_growth_bytes(before_bytes);
      points.iterations[point] = static_cast<double>(end);
      points.overhead[point] = resident / requested_bytes - 1;
      points.faults[point] = static_cast<double>(figures::minor_faults() - before_faults);
      points.operations_per_s[point] = figures::possible_rate(
          "operations_per_s", static_cast<double>(end - done), span.elapsed_ns(), threads);
      done = end;
    }
  });
  constexpr std::size_t last = point_count - 1;
  report.figure("overhead_ratio", points.overhead[last]);
  report.figure("operations_per_s", points.operations_per_s[last]);
  report.figure("faults", points.faults[last]);
  report.series("iterations", points.iterations);
  report.series("overhead_by_iterations", points.overhead);
  report.series("faults_by_iterations", points.faults);
  report.series("operations_per_s_by_iterations", points.operations_per_s);
}

}  // namespace

const Experiment fragmentation_experiment{"fragmentation", parameters, needed_bytes, run};

}  // namespace heapwright::lab
