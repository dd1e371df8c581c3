// SPDX-License-Identifier: MIT
// Question: how long may a single call take?
// Load, --part mean: --blocks blocks of --size bytes allocated, the first byte of each written, then all
// freed: mean time per call.
// Load, --part one-call: --blocks blocks of --size bytes allocated and freed; then one malloc(1024), timed
// alone.
// Load, --part mixed: --operations calls on random slots (free the block or allocate one of everyday size),
// and all live blocks are freed after each eighth. Every call is timed. --minima FILE keeps, for each
// operation index, the least time of all runs that were given the file: noise is random, real work recurs at
// the same index. Percentiles and maximum of that series are the intrinsic latencies.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "lab/experiment.hpp"
#include "lab/loads.hpp"
#include "lab/minima_file.hpp"
#include "platform/clock.hpp"

namespace heapwright::lab {
namespace {

constexpr std::uint64_t mass_frees = 8;
constexpr Parameter parameters[] = {
    {"part", "mean"},          {"size", "4"}, {"blocks", "1000000", true}, {"operations", "2000000", true},
    {"slots", "200000", true}, {"minima", ""}};

std::uint64_t needed_bytes(const Options& options) {
  if (options.text("part") == "mixed") return options.count("slots") * 256 + options.count("operations") * 24;
  return options.count("blocks") * (options.count("size") + options.count("size") / 4 + 48);
}

unsigned char* allocate(std::uint64_t size) {
  auto* block = static_cast<unsigned char*>(std::malloc(size));
  if (block == nullptr) figures::give_up("malloc(%zu) failed", size);
  *block = 1;
  return block;
}

struct Means {
  double allocate_ns;
  double free_ns;
};

Means allocate_and_free(const Options& options) {
  const std::uint64_t blocks = options.count("blocks");
  const std::uint64_t size = std::max<std::uint64_t>(1, options.count("size"));
  figures::MappedArray<unsigned char*> pointers(blocks);
  const std::uint64_t start_ns = figures::now_ns();
  for (auto& pointer : pointers) pointer = allocate(size);
  const std::uint64_t middle_ns = figures::now_ns();
  for (auto* pointer : pointers) std::free(pointer);
  const std::uint64_t end_ns = figures::now_ns();
  const auto count = static_cast<double>(blocks);
  return {static_cast<double>(middle_ns - start_ns) / count, static_cast<double>(end_ns - middle_ns) / count};
}

void run_mean(const Options& options, figures::Report& report) {
  const Means means = allocate_and_free(options);
  report.figure("mean_ns", (means.allocate_ns + means.free_ns) / 2);
  report.figure("allocate_ns", means.allocate_ns);
  report.figure("free_ns", means.free_ns);
}

void run_one_call(const Options& options, figures::Report& report) {
  const Means means = allocate_and_free(options);
  const std::uint64_t start_ns = figures::now_ns();
  void* block = std::malloc(1024);
  const auto call_ns = static_cast<double>(figures::now_ns() - start_ns);
  if (block == nullptr) figures::give_up("malloc(1024) failed");
  std::free(block);
  report.figure("one_call_ns", call_ns);
  report.figure("mean_ns", (means.allocate_ns + means.free_ns) / 2);
}

// Calls in a fixed order, each timed in clock ticks.
class MixedLoad {
 public:
  MixedLoad(std::uint64_t operations, std::uint64_t slots, std::uint64_t seed)
      : random_(seed), blocks_(slots), live_(slots), ticks_(operations) {}

  void run() noexcept {
    const std::uint64_t stretch = std::max<std::uint64_t>(1, ticks_.size() / mass_frees);
    while (done_ < ticks_.size()) {
      const std::uint64_t end = std::min<std::uint64_t>(ticks_.size(), (done_ / stretch + 1) * stretch);
      while (done_ + live_count() < end) change_one();
      while (done_ < end) free_slot(live_[live_count() - 1]);
    }
  }

  figures::MappedArray<std::uint32_t>& ticks() noexcept { return ticks_; }

 private:
  std::uint64_t live_count() const noexcept { return live_count_; }

  void change_one() noexcept {
    const std::uint64_t slot = random_.below(blocks_.size());
    if (blocks_[slot].memory != nullptr) return free_slot(slot);
    const std::uint64_t size = mixed_size(random_);
    const std::uint64_t start = platform::read_ticks(true);
    void* memory = std::malloc(size);
    const std::uint64_t end = platform::read_ticks(true);
    if (memory == nullptr) figures::give_up("malloc(%zu) failed", size);
    *static_cast<volatile unsigned char*>(memory) = 1;
    blocks_[slot] = {memory, live_count_};
    live_[live_count_++] = slot;
    keep(end - start);
  }

  void free_slot(std::uint64_t slot) noexcept {
    Slot& freed = blocks_[slot];
    const std::uint64_t start = platform::read_ticks(true);
    std::free(freed.memory);
    const std::uint64_t end = platform::read_ticks(true);
    const std::uint64_t last = live_[--live_count_];
    live_[freed.position] = last;
    blocks_[last].position = freed.position;
    freed.memory = nullptr;
    keep(end - start);
  }

  void keep(std::uint64_t ticks) noexcept {
    ticks_[done_++] = static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks, UINT32_MAX));
  }

  struct Slot {
    void* memory;
    std::uint64_t position;  // in live_
  };
  Random random_;
  figures::MappedArray<Slot> blocks_;
  figures::MappedArray<std::uint64_t> live_;
  figures::MappedArray<std::uint32_t> ticks_;
  std::uint64_t live_count_ = 0;
  std::uint64_t done_ = 0;
};

void run_mixed(const Options& options, figures::Report& report) {
  const std::uint64_t operations = options.count("operations");
  MixedLoad load(operations, options.count("slots"), options.seed());
  const std::uint64_t start_ns = figures::now_ns();
  const std::uint64_t start_ticks = platform::read_ticks(true);
  load.run();
  const std::uint64_t elapsed_ticks = platform::read_ticks(true) - start_ticks;
  const double ns_per_tick =
      static_cast<double>(figures::now_ns() - start_ns) / static_cast<double>(elapsed_ticks);
  figures::MappedArray<std::uint32_t>& times = load.ticks();
  double sum_ns = 0;
  for (std::uint32_t& time : times) {
    time = static_cast<std::uint32_t>(std::min(4e9, std::round(time * ns_per_tick)));
    sum_ns += time;
  }
  if (!options.text("minima").empty()) fold_minima(options.text("minima"), times);
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return static_cast<double>(times[static_cast<std::size_t>(share * static_cast<double>(operations - 1))]);
  };
  report.figure("max_ns", at(1));
  report.figure("p9999_ns", at(0.9999));
  report.figure("p999_ns", at(0.999));
  report.figure("p99_ns", at(0.99));
  report.figure("p50_ns", at(0.5));
  report.figure("mean_of_run_ns", sum_ns / static_cast<double>(operations));
  constexpr std::array<double, 7> one_in = {2, 10, 100, 1000, 10'000, 100'000, 1'000'000};
  std::array<double, one_in.size()> slower_than_ns{};
  std::transform(one_in.begin(), one_in.end(), slower_than_ns.begin(),
                 [&](double n) { return at(1 - 1 / n); });
  report.series("one_in", one_in);
  report.series("slower_than_ns", slower_than_ns);
}

void run(const Options& options, figures::Report& report) {
  switch (options.choice("part", {"mean", "one-call", "mixed"})) {
    case 0:
      return run_mean(options, report);
    case 1:
      return run_one_call(options, report);
    default:
      return run_mixed(options, report);
  }
}

}  // namespace

const Experiment latency_experiment{"latency", parameters, needed_bytes, run};

}  // namespace heapwright::lab
