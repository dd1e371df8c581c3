// SPDX-License-Identifier: MIT
// The basis of the confidence intervals for a sampled trace's estimates.
//
// A block of s bytes is in the trace with probability p = 1 - exp(-s / mean), independently of other blocks
// (Poisson sampling). A sum of x over all blocks is estimated by the sum of x / p over the blocks in the
// trace (Horvitz and Thompson, "A generalization of sampling without replacement from a finite universe",
// 1952); its variance by the sum of (1 - p) / p^2 * x^2 over the same blocks (Särndal, Swensson and Wretman,
// "Model Assisted Survey Sampling", 1992, chapter 3.5). Spread holds this sum and the root of its largest
// term.
//
// For traces that are not sampled, these classes stay empty.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "analyze/facts/spreads.hpp"
#include "analyze/histogram.hpp"
#include "analyze/sampling_weight.hpp"
#include "analyze/sites.hpp"
#include "analyze/zeroed_array.hpp"

namespace heapwright::analyze {

struct Facts;

// Adds one sampled block: `term` is (1 - p) / p^2, `x` is the summed quantity.
inline void add_term(Spread& spread, double term, double x) noexcept {
  spread.variance += term * x * x;
  spread.largest = std::max(spread.largest, std::sqrt(term) * x);
}
inline void add_spread(Spread& spread, const Spread& other) noexcept {
  spread.variance += other.variance;
  spread.largest = std::max(spread.largest, other.largest);
}

// Order-free part: allocations. One for each decoding thread.
class CallSpreads {
 public:
  CallSpreads(const SiteMap& map, const SamplingWeight& weight, std::size_t lanes, std::size_t steps);

  void add(std::uint32_t stack, std::uint32_t lane, std::uint32_t step, std::uint64_t size_bytes,
           std::uint64_t excess_bytes) noexcept;
  void add(const CallSpreads& other) noexcept;
  void finish(const std::vector<std::uint32_t>& thread_of_lane, Facts& facts) const;

 private:
  struct OfStack {
    Spread allocations;
    Spread bytes;
    Spread overhead;
  };
  const SiteMap& map_;
  const SamplingWeight& weight_;
  ZeroedArray<OfStack> stacks_;
  std::array<OfStack, size_class_count> classes_{};
  std::vector<OfStack> lanes_;
  std::vector<double> steps_;  // of the allocations
};

// Ordered part: live blocks.
class LiveSpreads {
 public:
  LiveSpreads(const SiteMap& map, const SamplingWeight& weight);

  bool is_sampled() const noexcept { return weight_.is_sampled(); }
  // Called before the block counts as live, and before it stops to: `version` as in LivePeak.
  void add_block(std::uint32_t stack, std::uint64_t size_bytes, std::uint64_t version) noexcept;
  void remove_block(std::uint32_t stack, std::uint64_t size_bytes, std::uint64_t version) noexcept;
  // Closes steps of the timeline with the present state.
  void close_steps(std::size_t closed) { steps_.resize(std::max(closed, steps_.size()), bytes_variance_); }
  void begin_window(std::uint64_t version) noexcept;
  // `steps`: all steps of the timeline.
  void finish(std::uint64_t version, std::size_t steps, Facts& facts);

 private:
  struct Live {
    double blocks;
    double bytes;
    double at_peak_blocks;
    double at_peak_bytes;
    double largest_blocks;  // over all blocks that ever lived: not less than over the live ones
    double largest_bytes;
    std::uint64_t peak_version;

    void keep_peak(std::uint64_t version) noexcept;
    void change(double sign, double term, double size_bytes, std::uint64_t version) noexcept;
    LiveSpread finish(std::uint64_t version) noexcept;
  };

  const SiteMap& map_;
  const SamplingWeight& weight_;
  ZeroedArray<Live> stacks_;
  std::array<Live, size_class_count> classes_{};
  double bytes_variance_ = 0;
  std::vector<double> steps_;
};

}  // namespace heapwright::analyze
