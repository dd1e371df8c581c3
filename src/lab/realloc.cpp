// SPDX-License-Identifier: MIT
// Question: do growing buffers grow in place, or are they copied?
// Load: buffers grow by realloc from 64 bytes to --final bytes, --rounds times; the new part is written.
// --pattern alone: one buffer at a time, 1.5 times as large each time. --pattern steps: one buffer at a time,
// by 4 KiB. --pattern together: --buffers buffers alternately, 1.5 times as large each time, so that each has
// neighbours.
// Figures: share of the calls that kept the address, bytes of the moved buffers per byte of final size, time
// per byte of final size.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "figures/mapped_array.hpp"
#include "figures/process_figures.hpp"
#include "lab/experiment.hpp"

namespace heapwright::lab {
namespace {

constexpr std::uint64_t first_bytes = 64;
constexpr std::uint64_t step_bytes = 4096;
constexpr Parameter parameters[] = {
    {"pattern", "alone"}, {"final", "8388608"}, {"buffers", "16"}, {"rounds", "10", true}};

struct Buffer {
  char* memory;
  std::uint64_t size_bytes;
};

struct Counts {
  std::uint64_t calls;
  std::uint64_t in_place;
  std::uint64_t moved_bytes;
};

void grow(Buffer& buffer, std::uint64_t size_bytes, Counts& counts) {
  const auto before = reinterpret_cast<std::uintptr_t>(buffer.memory);
  auto* grown = static_cast<char*>(std::realloc(buffer.memory, size_bytes));
  if (grown == nullptr) figures::give_up("realloc to %zu bytes failed", size_bytes);
  std::memset(grown + buffer.size_bytes, 1, size_bytes - buffer.size_bytes);
  const bool has_moved = before != 0 && reinterpret_cast<std::uintptr_t>(grown) != before;
  if (before != 0) {
    ++counts.calls;
    counts.in_place += has_moved ? 0 : 1;
    counts.moved_bytes += has_moved ? buffer.size_bytes : 0;
  }
  buffer = {grown, size_bytes};
}

std::uint64_t needed_bytes(const Options& options) {
  return options.count("final") * (options.count("buffers") + 1) * 3;
}

void run(const Options& options, figures::Report& report) {
  const std::size_t pattern = options.choice("pattern", {"alone", "steps", "together"});
  const std::uint64_t final_bytes = options.count("final");
  const std::size_t buffer_count = pattern == 2 ? options.count("buffers") : 1;
  const std::uint64_t rounds = options.count("rounds");
  figures::MappedArray<Buffer> buffers(std::max<std::size_t>(1, buffer_count));
  Counts counts{};
  std::uint64_t elapsed_ns = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t start_ns = figures::now_ns();
    for (std::uint64_t size = std::min(first_bytes, final_bytes);;) {
      for (Buffer& buffer : buffers) grow(buffer, size, counts);
      if (size == final_bytes) break;
      size = std::min(final_bytes, pattern == 1 ? size + step_bytes : size + size / 2 + 1);
    }
    elapsed_ns += figures::now_ns() - start_ns;
    for (Buffer& buffer : buffers) {
      std::free(buffer.memory);
      buffer = {};
    }
  }
  const auto grown_bytes = static_cast<double>(final_bytes * buffers.size() * rounds);
  report.figure("in_place_ratio", static_cast<double>(counts.in_place) /
                                      static_cast<double>(std::max<std::uint64_t>(1, counts.calls)));
  report.figure("moved_ratio", static_cast<double>(counts.moved_bytes) / grown_bytes);
  report.figure("ns_per_kib", static_cast<double>(elapsed_ns) * 1024 / grown_bytes);
  report.figure("calls", static_cast<double>(counts.calls));
}

}  // namespace

const Experiment realloc_experiment{"realloc", parameters, needed_bytes, run};

}  // namespace heapwright::lab
