// SPDX-License-Identifier: MIT
// Detects new blocks that replace older ones: std::vector and std::string grow by a new block, a copy and the
// free of the old one. A free is such a step if
//   - the thread allocated both, and the new one by its last call for blocks of a reserve,
//   - the new one is larger by at least a quarter: no container grows by less,
//   - between the two, the thread made no more other calls than copies of the elements could need: one
//     allocation and one free for each 8 bytes of the old block.
// A program that replaces a buffer by a larger one and at once frees the old one looks the same; but then
// sizes fall as often as they rise. So sites where most replacing blocks are not larger do not grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heapwright::replay {

class GrowthByCopies {
 public:
  // The block that a lane allocated last.
  struct Made {
    std::uint64_t operation = 0;
    std::uint64_t other_calls = 0;  // since then
    std::uint32_t slot = 0;
    std::uint8_t part = 0;  // 0: none
  };

  explicit GrowthByCopies(std::size_t lanes) : made_(lanes) {}

  static bool may_be_copied(std::uint64_t old_bytes, std::uint64_t other_calls) noexcept {
    return other_calls <= old_bytes / 4;
  }
  static bool is_larger(std::uint64_t old_bytes, std::uint64_t new_bytes) noexcept {
    return new_bytes > old_bytes && new_bytes - old_bytes >= old_bytes / 4;
  }

  // Per part: how often a block was replaced by a larger one, and by one that is not larger.
  struct Replaced {
    std::uint64_t by_larger = 0;
    std::uint64_t by_others = 0;

    bool is_growth() const noexcept { return by_larger == 0 || by_larger > by_others; }
  };

  void make(std::uint32_t lane, const Made& made) { made_[lane] = made; }
  // Another call that allocates or frees a block.
  void pass(std::uint32_t lane) noexcept { ++made_[lane].other_calls; }
  // The next block replaces no older one.
  void forget() noexcept { std::fill(made_.begin(), made_.end(), Made{}); }
  // Its part is 0 if there is none left.
  Made take(std::uint32_t lane) noexcept {
    const Made made = made_[lane];
    made_[lane] = {};
    return made;
  }

 private:
  std::vector<Made> made_;
};

}  // namespace heapwright::replay
