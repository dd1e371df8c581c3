// SPDX-License-Identifier: MIT
// The least time of each operation of a plan over the runs of one candidate, in a file shared by the runs.
// Interference by other processes rarely hits the same operation twice. Little-endian, temporary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "replay/plan_file.hpp"

namespace heapwright::replay {

// Ticks plus one, without the clock's own cost; 0: not measured.
struct OperationTime {
  std::uint32_t call = 0;
  std::uint32_t touch = 0;

  void fold(std::uint64_t call_ticks, std::uint64_t touch_ticks) noexcept {
    keep_least(call, call_ticks);
    keep_least(touch, touch_ticks);
  }
  bool is_known() const noexcept { return call != 0; }
  std::uint64_t call_ticks() const noexcept { return call - std::min(call, 1U); }
  std::uint64_t touch_ticks() const noexcept { return touch - std::min(touch, 1U); }

 private:
  static void keep_least(std::uint32_t& kept, std::uint64_t ticks) noexcept {
    const auto now = static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks, UINT32_MAX - 1) + 1);
    if (kept == 0 || now < kept) kept = now;
  }
};
static_assert(sizeof(OperationTime) == 8);

// The entries are in the order of the lanes' operations, one lane after the other. Threads: one per lane.
class OperationTimes {
 public:
  // A missing or empty file starts without times; a file of another plan ends the process with a message.
  OperationTimes(const char* path, const PlanFile& plan);
  ~OperationTimes();
  OperationTimes(const OperationTimes&) = delete;
  OperationTimes& operator=(const OperationTimes&) = delete;

  // The entries of the lane's operations, in order.
  OperationTime* of_lane(std::uint32_t lane) noexcept;

 private:
  const PlanFile& plan_;
  std::size_t bytes_;
  OperationTime* entries_ = nullptr;
};

}  // namespace heapwright::replay
