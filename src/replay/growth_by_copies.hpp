// SPDX-License-Identifier: MIT
// Which new blocks take the place of older ones: std::vector and std::string grow by a new block, a copy and
// the release of the old one. A release is such a step when
//   - the thread made both, and the new one by its last call about blocks of a reserve,
//   - the new one is larger by a quarter at least: no container grows by less,
//   - between the two the thread made no more other calls than copies of the elements can be: one that makes
//     and one that releases for each 8 bytes of the old block.
// A program that replaces a buffer by a larger one, and at once frees the old one, does the same; but then
// sizes fall as often as they rise. So sites at which more blocks give way to no larger one do not grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heapwright::replay {

class GrowthByCopies {
 public:
  // The block that a lane has made last.
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

  // Of one part: how often a block gave way to a larger one, and to one that is not.
  struct Replaced {
    std::uint64_t by_larger = 0;
    std::uint64_t by_others = 0;

    bool is_growth() const noexcept { return by_larger == 0 || by_larger > by_others; }
  };

  void make(std::uint32_t lane, const Made& made) { made_[lane] = made; }
  // Another call that makes or releases a block.
  void pass(std::uint32_t lane) noexcept { ++made_[lane].other_calls; }
  // What is made next has no older block.
  void forget() noexcept { std::fill(made_.begin(), made_.end(), Made{}); }
  // Its part is 0 where there is none any more.
  Made take(std::uint32_t lane) noexcept {
    const Made made = made_[lane];
    made_[lane] = {};
    return made;
  }

 private:
  std::vector<Made> made_;
};

}  // namespace heapwright::replay
