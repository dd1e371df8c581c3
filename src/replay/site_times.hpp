// SPDX-License-Identifier: MIT
// Call durations by call site, function and size: histograms as in call_times.hpp that store only the steps
// that occur, because a program has thousands of sites. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heapwright::replay {

class SiteTimes {
 public:
  static constexpr std::uint32_t left_out = UINT32_MAX;

  // site_of_stack: the site of each call stack, or left_out.
  explicit SiteTimes(std::vector<std::uint32_t> site_of_stack) : site_of_stack_(std::move(site_of_stack)) {}

  // kind: the operation's. largest_bytes: the power of two that bounds its size. O(1).
  void add(std::uint32_t stack, std::uint8_t kind, std::uint64_t largest_bytes, std::uint64_t ticks);

  struct Group {
    std::uint32_t site = 0;
    std::uint8_t kind = 0;
    std::uint64_t largest_bytes = 0;
    std::uint64_t calls = 0;
    // Quantiles: the middle of a step.
    double p50_ticks = 0;
    double p99_ticks = 0;
    double p999_ticks = 0;
  };
  // The groups with at least this number of calls, by site, function and size. O(steps that occur, sorted).
  std::vector<Group> groups(std::uint64_t least_calls) const;

 private:
  // A step of a group's histogram; no calls: a free entry.
  struct Entry {
    std::uint64_t key = 0;
    std::uint64_t calls = 0;
  };
  static Entry& find(std::vector<Entry>& entries, std::uint64_t key) noexcept;
  void grow();

  std::vector<std::uint32_t> site_of_stack_;
  std::vector<Entry> entries_ = std::vector<Entry>(4096);  // a power of two, at least half of them free
  std::size_t used_ = 0;
};

}  // namespace heapwright::replay
