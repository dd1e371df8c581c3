// SPDX-License-Identifier: MIT
// The storage of tracked_small_vector, which records how large vectors grew.
#ifndef HEAPWRIGHT_DETAIL_TRACKED_STORAGE_HPP
#define HEAPWRIGHT_DETAIL_TRACKED_STORAGE_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/vector_storage.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// How large the vectors with one tag grew. Thread-safe.
class spill_statistics {
 public:
  void record(std::size_t peak_size) noexcept {
    counts_[std::min(peak_size, largest_counted)].fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t vectors() const noexcept { return at_most(largest_counted); }
  // The number of vectors that would stay inline with N = `inline_count`.
  std::uint64_t at_most(std::size_t inline_count) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i <= std::min(inline_count, largest_counted); ++i) {
      sum += counts_[i].load(std::memory_order_relaxed);
    }
    return sum;
  }
  std::uint64_t spilled(std::size_t inline_count) const noexcept { return vectors() - at_most(inline_count); }
  double covered_percent(std::size_t inline_count) const noexcept {
    return vectors() == 0
               ? 100.0
               : 100.0 * static_cast<double>(at_most(inline_count)) / static_cast<double>(vectors());
  }
  // The smallest N that keeps `percent` of the vectors inline.
  std::size_t recommended_inline_count(double percent = 99.0) const noexcept {
    std::size_t count = 0;
    while (count < largest_counted && covered_percent(count) < percent) ++count;
    return count;
  }
  // One line: "1000 vectors: N=0 covers 50.0 %, N=1 covers 99.0 %, ...".
  std::string report() const {
    std::string line = std::to_string(vectors()) + " vectors:";
    const std::size_t last = std::max<std::size_t>(recommended_inline_count(99.9), 1);
    for (std::size_t count = 0; count <= last; count = count == 0 ? 1 : count * 2) {
      const auto tenths = static_cast<std::uint64_t>(covered_percent(count) * 10.0);
      line += (count == 0 ? " N=" : ", N=") + std::to_string(count) + " covers " +
              std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
    }
    return line;
  }
  void reset() noexcept {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t largest_counted = 512;
  std::array<std::atomic<std::uint64_t>, largest_counted + 1> counts_{};
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

template <class Tag>
inline spill_statistics spills_of_tag{};

template <class T, std::size_t N, class Alloc, class Tag>
class tracked_storage : public fast_storage<T, N, Alloc> {
  using base = fast_storage<T, N, Alloc>;

 protected:
  explicit tracked_storage(const Alloc& alloc) noexcept : base(alloc) {}
  ~tracked_storage() {
    if (!is_moved_from_ || peak_ != 0) spills_of_tag<Tag>.record(peak_);
  }
  void set_size_(std::size_t size) noexcept {
    base::set_size_(size);
    peak_ = std::max(peak_, base::header_.size);
  }
  // A move transfers the history: the source is no longer counted.
  void take_peak_(tracked_storage& source) noexcept {
    peak_ = std::max(peak_, std::exchange(source.peak_, 0U));
    source.is_moved_from_ = true;
    is_moved_from_ = false;
  }

 private:
  std::uint32_t peak_ = 0;
  bool is_moved_from_ = false;

  template <class, class>
  friend class reference_storage;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
