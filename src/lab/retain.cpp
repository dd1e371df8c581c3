// SPDX-License-Identifier: MIT
// Question: how much memory does a heap return after most of it was freed?
// Load: --total bytes (80 % of the blocks below 256 bytes, up to 64 KiB), all written; 90 % of the blocks
// freed at random; then --idle-ms without a call, then a thousand calls (a heap may return memory only when
// it is called).
// Figures: resident / live at each of these moments, and resident relative to the floor: the bytes of the
// pages that still hold part of a live block.
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "lab/experiment.hpp"
#include "lab/loads.hpp"

namespace heapwright::lab {
namespace {

constexpr std::uint64_t mean_size_bytes = 2463;
constexpr Parameter parameters[] = {
    {"total", "478000000", true}, {"freed-percent", "90"}, {"idle-ms", "5000", true}};

std::uint64_t needed_bytes(const Options& options) { return options.count("total") * 3 / 2; }

struct Blocks {
  explicit Blocks(std::size_t most) : pointers(most), sizes(most) {}
  figures::MappedArray<char*> pointers;
  figures::MappedArray<std::uint32_t> sizes;
  std::size_t count = 0;
};

void allocate(Blocks& blocks, std::uint64_t total_bytes, Random& random) {
  std::uint64_t bytes = 0;
  while (bytes < total_bytes && blocks.count < blocks.sizes.size()) {
    const std::uint64_t size = retained_size(random);
    auto* block = static_cast<char*>(std::malloc(size));
    if (block == nullptr) figures::give_up("malloc(%zu) failed", size);
    std::memset(block, 1, size);
    blocks.pointers[blocks.count] = block;
    blocks.sizes[blocks.count++] = static_cast<std::uint32_t>(size);
    bytes += size;
  }
}

// Pages that contain part of a block, each counted once.
std::uint64_t count_pages(const Blocks& blocks, std::size_t first) {
  std::uint64_t page_count = 0;
  for (std::size_t i = first; i < blocks.count; ++i) page_count += blocks.sizes[i] / figures::page_bytes + 2;
  figures::MappedArray<std::uint64_t> pages(page_count);
  std::size_t filled = 0;
  for (std::size_t i = first; i < blocks.count; ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(blocks.pointers[i]);
    const std::uint64_t last = (begin + blocks.sizes[i] - 1) / figures::page_bytes;
    for (std::uint64_t page = begin / figures::page_bytes; page <= last; ++page) pages[filled++] = page;
  }
  std::sort(pages.begin(), pages.begin() + filled);
  return static_cast<std::uint64_t>(std::unique(pages.begin(), pages.begin() + filled) - pages.begin());
}

void idle(std::uint64_t milliseconds) {
  const timespec time{static_cast<time_t>(milliseconds / 1000),
                      static_cast<long>(milliseconds % 1000 * 1'000'000)};
  nanosleep(&time, nullptr);
}

void call_a_thousand_times() {
  for (std::size_t i = 1; i <= 1000; ++i) std::free(std::malloc(i));
}

void run(const Options& options, figures::Report& report) {
  const std::uint64_t total_bytes = options.count("total");
  const std::uint64_t freed_percent = options.count("freed-percent");
  if (freed_percent > 99) figures::refuse("--freed-percent takes 0 to 99");
  Random random(options.seed());
  Blocks blocks(total_bytes / mean_size_bytes * 2 + 1000);
  const std::uint64_t before_bytes = figures::resident_bytes();
  allocate(blocks, total_bytes, random);
  const auto grown_bytes = [&] { return figures::resident_growth_bytes(before_bytes); };
  const double full_bytes = grown_bytes();
  // The same shuffle for both arrays: blocks in random order.
  Random pointer_order = random;
  Random size_order = random;
  shuffle(blocks.pointers, blocks.count, pointer_order);
  shuffle(blocks.sizes, blocks.count, size_order);
  const std::size_t freed = blocks.count * freed_percent / 100;
  const std::uint64_t start_ns = figures::now_ns();
  for (std::size_t i = 0; i < freed; ++i) std::free(blocks.pointers[i]);
  const std::uint64_t freeing_ns = figures::now_ns() - start_ns;
  double live_bytes = 0;
  for (std::size_t i = freed; i < blocks.count; ++i) live_bytes += blocks.sizes[i];
  const double at_once_bytes = grown_bytes();
  idle(options.count("idle-ms"));
  const double idle_bytes = grown_bytes();
  call_a_thousand_times();
  const double called_bytes = grown_bytes();
  const auto floor_bytes = static_cast<double>(count_pages(blocks, freed) * figures::page_bytes);
  report.figure("idle_ratio", idle_bytes / live_bytes);
  report.figure("at_once_ratio", at_once_bytes / live_bytes);
  report.figure("called_ratio", called_bytes / live_bytes);
  report.figure("floor_ratio", floor_bytes / live_bytes);
  report.figure("above_floor_ratio", idle_bytes / floor_bytes);
  report.figure("full_bytes", full_bytes);
  report.figure("live_bytes", live_bytes);
  report.figure("free_ns",
                static_cast<double>(freeing_ns) / static_cast<double>(std::max<std::size_t>(1, freed)));
}

}  // namespace

const Experiment retain_experiment{"retain", parameters, needed_bytes, run};

}  // namespace heapwright::lab
