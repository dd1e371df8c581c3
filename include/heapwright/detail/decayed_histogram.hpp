// SPDX-License-Identifier: MIT
// A histogram of sizes in which old samples decay: a sample weighs half as much
// after `half_life` further samples. It has eight classes per power of two, so a
// percentile is at most 12.5 % too high.
#ifndef HEAPWRIGHT_DETAIL_DECAYED_HISTOGRAM_HPP
#define HEAPWRIGHT_DETAIL_DECAYED_HISTOGRAM_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

inline constexpr std::size_t size_steps_per_doubling = 8;
inline constexpr std::size_t size_class_count = 42 * size_steps_per_doubling;

// Classes 0..7 hold one size each; above, the upper four bits of the size select
// the class. Sizes of 2^44 and more share the last class.
constexpr std::size_t size_class_of(std::uint64_t bytes) noexcept {
  if (bytes < size_steps_per_doubling) return bytes;
  const std::size_t exponent = 63U - static_cast<unsigned>(std::countl_zero(bytes));
  const std::size_t step = (bytes >> (exponent - 3)) & (size_steps_per_doubling - 1);
  const std::size_t index = (exponent - 2) * size_steps_per_doubling + step;
  return index < size_class_count ? index : size_class_count - 1;
}

// The smallest size of a class; size_class_of(lower) == index.
constexpr std::uint64_t size_class_lower(std::size_t index) noexcept {
  if (index < size_steps_per_doubling) return index;
  const std::size_t exponent = index / size_steps_per_doubling + 2;
  const std::uint64_t step = index % size_steps_per_doubling;
  return (size_steps_per_doubling + step) << (exponent - 3);
}

// The largest size of a class.
constexpr std::uint64_t size_class_upper(std::size_t index) noexcept {
  return index + 1 >= size_class_count ? ~std::uint64_t{0} : size_class_lower(index + 1) - 1;
}

// All samples of a batch weigh the same, so adding one costs an addition. The first
// batch is one sample, each next one twice as long, up to 1/32 of the half-life.
class decayed_histogram {
 public:
  explicit decayed_histogram(std::uint32_t half_life_samples) noexcept
      : half_life_samples_(half_life_samples),
        longest_batch_(std::max<std::uint32_t>(half_life_samples / 32, 1)),
        growth_of_batch_(growth_over(1)) {}

  // True when a batch is complete: a good time to recompute a percentile.
  bool add(std::uint64_t size) noexcept { return add_to_class(size_class_of(size)); }
  bool add_to_class(std::size_t index) noexcept {
    weights_[index] += weight_;
    if (index > highest_) highest_ = index;
    if (--left_in_batch_ != 0) return false;
    begin_batch();
    return true;
  }

  // An upper bound of the sizes of `percent` of the weight; 0 without samples.
  // Searches from the top, because callers ask for high percentiles.
  std::uint64_t percentile(double percent) const noexcept {
    if (samples() == 0) return 0;
    const double total = total_ + static_cast<double>(weight_) * (batch_ - left_in_batch_);
    const double beyond = total * (100.0 - percent) / 100.0;
    double above = 0;
    std::size_t reached = 0;
    for (std::size_t index = highest_ + 1; index-- > 0;) {
      if (weights_[index] <= 0) continue;
      reached = index;
      above += static_cast<double>(weights_[index]);
      if (above > beyond) break;
    }
    return size_class_upper(reached);
  }

  std::uint64_t samples() const noexcept { return samples_before_ + batch_ - left_in_batch_; }

 private:
  static constexpr float renormalize_above = 1e12F;

  float growth_over(std::uint32_t samples) const noexcept {
    return static_cast<float>(std::exp2(static_cast<double>(samples) / half_life_samples_));
  }

  [[gnu::noinline]] void begin_batch() noexcept {
    total_ += static_cast<double>(weight_) * batch_;
    samples_before_ += batch_;
    if (batch_ != longest_batch_) {
      batch_ = std::min(batch_ * 2, longest_batch_);
      growth_of_batch_ = growth_over(batch_);
    }
    left_in_batch_ = batch_;
    weight_ *= growth_of_batch_;
    if (weight_ > renormalize_above) renormalize();
  }

  void renormalize() noexcept {
    for (float& weight : weights_) weight /= weight_;
    total_ /= static_cast<double>(weight_);
    weight_ = 1.0F;
    while (highest_ > 0 && weights_[highest_] <= 0) --highest_;
  }

  std::array<float, size_class_count> weights_{};
  float weight_ = 1.0F;  // of each sample of this batch
  std::uint32_t left_in_batch_ = 1;
  std::uint32_t batch_ = 1;
  std::uint32_t half_life_samples_;
  std::uint32_t longest_batch_;
  float growth_of_batch_;    // of the weight, from one batch to the next
  std::size_t highest_ = 0;  // classes above it have no weight
  double total_ = 0;         // of the complete batches
  std::uint64_t samples_before_ = 0;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
