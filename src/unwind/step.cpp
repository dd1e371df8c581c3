// SPDX-License-Identifier: MIT
#include "unwind/step.hpp"

#include "unwind/signal_frame.hpp"

namespace heapwright::unwind {
namespace {

// A leaf function may keep data this far below its stack pointer.
constexpr std::uint64_t red_zone_bytes = 128;

bool step_through_signal(WalkPoint& point, OwnStack& own) {
  Registers& at = point.at;
  const std::uint64_t context = at.sp;
  at.pc_slot = 0;
  if (!point.bounds.load(context + signal_frame_rsp_offset, at.sp) ||
      !point.bounds.load(context + signal_frame_rbp_offset, at.rbp) ||
      !point.bounds.load(context + signal_frame_rip_offset, at.key)) {
    return false;
  }
  at.pc_slot = context + signal_frame_rip_offset;
  if (!is_program_address(at.key)) return false;
  at.key |= session::pc_key_exact;
  point.bounds.enter(own, at.sp - red_zone_bytes);
  return true;
}

}  // namespace

[[gnu::cold]] WalkPoint step_rare(WalkPoint point, OwnStack& own, Rule rule) noexcept {
  std::uint64_t cfa = 0;
  point.result = StepResult::unfollowable;
  switch (rule.type()) {
    case RuleType::rbp_load: {
      const std::uint64_t slot = point.at.rbp + static_cast<std::uint64_t>(rule.cfa_offset());
      point.at.pc_slot = 0;
      if (!point.bounds.load(slot, cfa)) return point;
      point.result = StepResult::caller;
      step_to(point, rule, cfa);
      return point;
    }
    case RuleType::signal_frame:
      if (step_through_signal(point, own)) point.result = StepResult::caller;
      return point;
    case RuleType::end:
      point.result = StepResult::end;
      [[fallthrough]];
    default:
      point.at.pc_slot = 0;
      return point;
  }
}

}  // namespace heapwright::unwind
