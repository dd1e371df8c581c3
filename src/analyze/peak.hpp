// SPDX-License-Identifier: MIT
// The amount of live memory, and the exact moment when it was highest.
//
// version() increases with every new maximum. Each holder of a share of the live bytes (LiveShare) copies it
// at its first change after a new version, so the state at the peak is complete without ever copying
// everything.
#pragma once

#include <array>
#include <cstdint>

#include "analyze/facts/totals.hpp"
#include "analyze/histogram.hpp"
#include "analyze/sites.hpp"

namespace heapwright::analyze {

struct Facts;

class LivePeak {
 public:
  // Call `settle` after every share of the block has been added.
  [[gnu::always_inline]] void add_block(std::uint64_t size_bytes, std::uint64_t excess_bytes,
                                        std::uint64_t weight) noexcept {
    classes_[size_class_of(size_bytes)].add(size_bytes * weight, weight, version_);
    live_bytes_ += size_bytes * weight;
    live_usable_bytes_ += (size_bytes + excess_bytes) * weight;
    live_blocks_ += weight;
  }
  [[gnu::always_inline]] void settle(std::uint64_t time_ns) noexcept {
    if (live_bytes_ > peak_.live_bytes) {
      peak_ = {time_ns, live_bytes_, live_usable_bytes_, live_blocks_};
      ++version_;
    }
  }
  [[gnu::always_inline]] void remove_block(std::uint64_t size_bytes, std::uint64_t excess_bytes,
                                           std::uint64_t weight) noexcept {
    classes_[size_class_of(size_bytes)].remove(size_bytes * weight, weight, version_);
    live_bytes_ -= size_bytes * weight;
    live_usable_bytes_ -= (size_bytes + excess_bytes) * weight;
    live_blocks_ -= weight;
  }

  // Whether this many additional bytes would make a new maximum.
  bool would_be_peak(std::uint64_t bytes) const noexcept { return live_bytes_ + bytes > peak_.live_bytes; }

  std::uint64_t version() const noexcept { return version_; }
  std::uint64_t live_bytes() const noexcept { return live_bytes_; }
  std::uint64_t live_usable_bytes() const noexcept { return live_usable_bytes_; }
  std::uint64_t live_blocks() const noexcept { return live_blocks_; }
  const LiveShare& size_class(std::size_t index) const noexcept { return classes_[index]; }

  // The live bytes at `time_ns` become the new peak.
  void begin_window(std::uint64_t time_ns);
  // Fills peak and the live columns of by_size (size_class_count rows).
  void finish(Facts& facts);

 private:
  std::uint64_t live_bytes_ = 0;
  std::uint64_t live_usable_bytes_ = 0;
  std::uint64_t live_blocks_ = 0;
  std::uint64_t version_ = 0;
  Peak peak_;
  std::array<LiveShare, size_class_count> classes_{};
};

}  // namespace heapwright::analyze
