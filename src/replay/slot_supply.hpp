// SPDX-License-Identifier: MIT
// Assigns slots to blocks so that the same few are reused and yet no thread waits for another thread's free:
// a slot returns to the lane that emptied it. A lane's surplus goes to a shared pool and is reused only after
// many others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace heapwright::replay {

class SlotSupply {
 public:
  explicit SlotSupply(std::size_t lanes) : of_lane_(lanes) {}

  // An empty slot.
  std::uint32_t take(std::uint32_t lane) {
    auto& own = of_lane_[lane];
    if (!own.empty()) {
      const auto number = own.back();
      own.pop_back();
      return number;
    }
    if (of_all_.size() > kept_for_all) {
      const auto number = of_all_.front();
      of_all_.pop_front();
      return number;
    }
    generations_.push_back(0);
    return static_cast<std::uint32_t>(generations_.size() - 1);
  }

  // The slot's current generation; it then rises by `steps`.
  std::uint32_t advance(std::uint32_t number, std::uint32_t steps) noexcept {
    const auto now = generations_[number];
    generations_[number] = now + steps;
    return now;
  }

  // Precondition: the slot is empty.
  void give_back(std::uint32_t lane, std::uint32_t number) {
    auto& own = of_lane_[lane];
    if (own.size() < kept_by_lane) {
      own.push_back(number);
    } else {
      of_all_.push_back(number);
    }
  }

  // The lane takes no more slots.
  void close(std::uint32_t lane) {
    auto& own = of_lane_[lane];
    of_all_.insert(of_all_.end(), own.begin(), own.end());
    own = {};
  }

  std::size_t count() const noexcept { return generations_.size(); }

 private:
  static constexpr std::size_t kept_by_lane = 4096;
  static constexpr std::size_t kept_for_all = 65536;

  std::vector<std::vector<std::uint32_t>> of_lane_;
  std::deque<std::uint32_t> of_all_;
  std::vector<std::uint32_t> generations_;
};

}  // namespace heapwright::replay
