// SPDX-License-Identifier: MIT
// Slow calls in the course of time, by cause and by how long they took.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

namespace heapwright::analyze {

class TimeSteps;
struct Facts;
struct SlowCall;

// Not thread-safe. Memory: 64 bytes for each step with calls of one cause that took equally long.
class SlowBins {
 public:
  // span: cut into Activity's bins, and outlives this; nullptr: nothing is kept.
  explicit SlowBins(const TimeSteps* span = nullptr) : span_(span) {}

  // A slow call with its cause. It counts where Activity counts it: an allocation at its end.
  void add(const SlowCall& call);
  void add(const SlowBins& other);
  void clear() { sums_.clear(); }
  // facts.bin_end_ns has the bins already.
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
