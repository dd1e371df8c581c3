// SPDX-License-Identifier: MIT
// A histogram of sizes in which old samples fade: a sample weighs half as much
// after `half_life` further samples. Eight steps per doubling, so an answer is
// at most 12.5 % above the exact one.
#ifndef HEAPWRIGHT_DETAIL_DECAYED_HISTOGRAM_HPP
#define HEAPWRIGHT_DETAIL_DECAYED_HISTOGRAM_HPP

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace heapwright::detail {

inline constexpr std::size_t size_steps_per_doubling = 8;
inline constexpr std::size_t size_class_count = 42 * size_steps_per_doubling;

// Classes 0..7 hold one size each; above, the upper four bits of the size
// decide. Sizes of 2^44 and more share the last class.
constexpr std::size_t size_class_of(std::uint64_t bytes) noexcept {
  if (bytes < size_steps_per_doubling) return static_cast<std::size_t>(bytes);
  const auto exponent = static_cast<std::size_t>(std::bit_width(bytes)) - 1;
  const auto step = static_cast<std::size_t>(bytes >> (exponent - 3)) & (size_steps_per_doubling - 1);
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

class decayed_histogram {
 public:
  explicit decayed_histogram(double half_life_samples) noexcept
      : growth_(std::exp2(1.0 / half_life_samples)) {}

  void add(std::uint64_t size) noexcept {
    weight_ *= growth_;
    weights_[size_class_of(size)] += static_cast<float>(weight_);
    ++samples_;
    if (weight_ > renormalize_above) renormalize();
  }

  // An upper bound of the sizes of `percent` of the weight; 0 without samples.
  std::uint64_t percentile(double percent) const noexcept {
    if (samples_ == 0) return 0;
    double sum = 0;
    for (const float weight : weights_) sum += static_cast<double>(weight);
    const double wanted = sum * percent / 100.0;
    double reached = 0;
    for (std::size_t index = 0; index < weights_.size(); ++index) {
      reached += static_cast<double>(weights_[index]);
      if (reached >= wanted && weights_[index] > 0) return size_class_upper(index);
    }
    return size_class_upper(highest_class());
  }

  std::uint64_t samples() const noexcept { return samples_; }

 private:
  static constexpr double renormalize_above = 1e12;

  std::size_t highest_class() const noexcept {
    for (std::size_t index = weights_.size(); index-- > 0;) {
      if (weights_[index] > 0) return index;
    }
    return 0;
  }

  void renormalize() noexcept {
    const double factor = 1.0 / weight_;
    for (float& weight : weights_) weight = static_cast<float>(static_cast<double>(weight) * factor);
    weight_ = 1.0;
  }

  std::array<float, size_class_count> weights_{};
  double weight_ = 1.0;
  double growth_;
  std::uint64_t samples_ = 0;
};

}  // namespace heapwright::detail
#endif
