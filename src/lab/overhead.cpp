// SPDX-License-Identifier: MIT
// Question: what does a block cost beyond its size?
// Load: --total bytes in blocks of --size bytes, every byte written, none freed.
// Figure: resident bytes per block beyond the requested ones, and the time. Every size runs in its own
// process, because one size would reuse the memory left by another.
#include <cstdlib>
#include <cstring>

#include "figures/process_figures.hpp"
#include "lab/experiment.hpp"

namespace heapwright::lab {
namespace {

constexpr Parameter parameters[] = {{"size", "40"}, {"total", "100000000", true}};

std::uint64_t block_count(const Options& options) {
  const std::uint64_t size = options.count("size");
  if (size == 0) figures::refuse("--size 0 is too small; the minimum is 1");
  return (options.count("total") + size - 1) / size;
}

std::uint64_t needed_bytes(const Options& options) {
  return block_count(options) * (options.count("size") + options.count("size") / 4 + 32);
}

void run(const Options& options, figures::Report& report) {
  const std::uint64_t size = options.count("size");
  const std::uint64_t blocks = block_count(options);
  const std::uint64_t before_bytes = figures::resident_bytes();
  const std::uint64_t before_faults = figures::minor_faults();
  const std::uint64_t start_ns = figures::now_ns();
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the blocks stay, to be measured
  for (std::uint64_t i = 0; i < blocks; ++i) {
    void* block = std::malloc(size);
    if (block == nullptr) figures::give_up("malloc(%zu) failed after %zu blocks", size, i);
    std::memset(block, 1, size);
  }
  const auto count = static_cast<double>(blocks);
  const std::uint64_t elapsed_ns = figures::now_ns() - start_ns;
  const auto grown_bytes = figures::resident_growth_bytes(before_bytes);
  report.figure("blocks", count);
  report.figure("overhead_bytes", grown_bytes / count - static_cast<double>(size));
  report.figure("resident_bytes", grown_bytes);
  report.figure("faults", static_cast<double>(figures::minor_faults() - before_faults));
  report.figure("ns_per_block", static_cast<double>(elapsed_ns) / count);
}

}  // namespace

const Experiment overhead_experiment{"overhead", parameters, needed_bytes, run};

}  // namespace heapwright::lab
