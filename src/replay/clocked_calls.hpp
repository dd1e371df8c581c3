// SPDX-License-Identifier: MIT
// Selects the calls of a lane that are timed. Reading the clock takes longer than many calls do, so in a long
// plan one call in eight is timed. The choice is random, because programs repeat themselves, but the same in
// each run.
#pragma once

#include <cstdint>

namespace heapwright::replay {

class ClockedCalls {
 public:
  static constexpr std::uint64_t all_of = 4'000'000;  // operations of a plan

  ClockedCalls() = default;
  ClockedCalls(std::uint64_t operations, std::uint32_t lane) noexcept
      : random_(lane), of_eight_(operations <= all_of ? 8 : 1) {}

  bool next() noexcept {
    random_ = random_ * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
    return random_ >> 61U < of_eight_;
  }

 private:
  std::uint64_t random_ = 0;
  std::uint64_t of_eight_ = 8;
};

}  // namespace heapwright::replay
