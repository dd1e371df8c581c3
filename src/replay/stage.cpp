// SPDX-License-Identifier: MIT
#include "replay/stage.hpp"

#include <algorithm>

#include "figures/refusal.hpp"

namespace heapwright::replay {
namespace {

constexpr std::size_t all_windows_bytes = std::size_t{8} << 20U;
constexpr std::size_t least_window = 64;  // operations
constexpr std::size_t most_window = 16384;

}  // namespace

Stage::Stage(const char* path)
    : plan_(path),
      slots_(plan_.header().slots),
      lanes_(lane_count()),
      window_(std::clamp(all_windows_bytes / sizeof(Operation) / lane_count(), least_window, most_window)),
      windows_(window_ * lane_count()) {
  const auto& lanes = plan_.lanes();
  for (std::uint32_t number = 0; number < lane_count(); ++number) {
    lanes_[number].operations.open(plan_, lanes[number].offset, lanes[number].count,
                                   &windows_[number * window_], window_);
  }
  if (plan_.header().part_count != 0) servers_.emplace(plan_, slots_);
}

std::uint64_t Stage::grown_bytes() const noexcept {
  const auto now_bytes = figures::anonymous_memory().resident_bytes;
  return now_bytes - std::min(before_bytes_, now_bytes);
}

void Stage::start(std::uint32_t number, void* (*entry)(void*), void* argument) noexcept {
  if (number >= lane_count()) refuse_damaged();
  if (pthread_create(&lanes_[number].thread, nullptr, entry, argument) != 0) {
    figures::give_up("cannot start thread %u of %u; raise the limit of threads (ulimit -u)", number,
                     lane_count());
  }
}

void Stage::join(std::uint32_t number) noexcept {
  if (number >= lane_count() || lanes_[number].thread == pthread_t{}) refuse_damaged();
  pthread_join(lanes_[number].thread, nullptr);
  lanes_[number].thread = {};
}

}  // namespace heapwright::replay
