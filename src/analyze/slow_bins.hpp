// SPDX-License-Identifier: MIT
// Slow calls over time, by cause and duration.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

namespace heapwright::analyze {

class TimeSteps;
struct Facts;
struct SlowCall;

// Not thread-safe. Memory: 64 bytes for each step with calls of one cause and duration.
class SlowBins {
 public:
  // span: divided into Activity's bins; must outlive this; nullptr: stores nothing.
  explicit SlowBins(const TimeSteps* span = nullptr) : span_(span) {}

  // A slow call with its cause. It counts where Activity counts it: an allocation at its end.
  void add(const SlowCall& call);
  void add(const SlowBins& other);
  void clear() { sums_.clear(); }
  // facts.bin_end_ns must already have the bins.
  void finish(Facts& facts) const;

 private:
  using Key = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t, std::uint32_t>;  // bin, of, cause, bucket
  struct Sum {
    std::uint64_t calls = 0;
    std::uint64_t duration_ns = 0;
  };

  const TimeSteps* span_;
  std::map<Key, Sum> sums_;
};

}  // namespace heapwright::analyze
