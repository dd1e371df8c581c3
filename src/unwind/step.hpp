// SPDX-License-Identifier: MIT
// One step outwards: from a frame's registers to its caller's.
#pragma once

#include <cstdint>

#include "session/layout.hpp"
#include "unwind/rule.hpp"
#include "unwind/signal_frame.hpp"
#include "unwind/stack_bounds.hpp"

namespace heapwright::unwind {

struct Registers {
  std::uint64_t key;  // pc, with pc_key_exact after a signal frame
  std::uint64_t sp;
  std::uint64_t rbp;
  std::uint64_t pc_slot;   // where key was loaded from; 0 = nowhere
};

enum class StepResult : std::uint8_t { caller, end, unfollowable };

inline bool is_program_address(std::uint64_t pc) { return pc >= 4096 && pc < 1ULL << 47; }

// A leaf function may keep data this far below its stack pointer.
inline constexpr std::uint64_t red_zone_bytes = 128;

inline StepResult step_through_signal(StackBounds& bounds, OwnStack& own, Registers& at) {
  const std::uint64_t context = at.sp;
  at.pc_slot = context + signal_frame_rip_offset;
  if (!bounds.load(context + signal_frame_rsp_offset, at.sp) || !bounds.load(context + signal_frame_rbp_offset, at.rbp) ||
      !bounds.load(at.pc_slot, at.key)) {
    at.pc_slot = 0;
    return StepResult::unfollowable;
  }
  if (!is_program_address(at.key)) return StepResult::unfollowable;
  at.key |= session::pc_key_exact;
  bounds.enter(own, at.sp - red_zone_bytes);
  return StepResult::caller;
}

inline StepResult load_caller(StackBounds& bounds, Rule rule, std::uint64_t cfa, Registers& at) {
  at.pc_slot = cfa - 8;
  if (cfa <= at.sp || !bounds.load(cfa - 8, at.key)) {
    at.pc_slot = 0;
    return StepResult::unfollowable;
  }
  // RBP holds ordinary data in most frames: a slot that cannot be read is no
  // reason to stop, only the frame that needs it is.
  const std::uint64_t rbp_base = rule.rbp_source() == RbpSource::cfa_slot ? cfa : at.rbp;
  const std::uint64_t rbp_slot = rbp_base + static_cast<std::uint64_t>(rule.rbp_offset());
  const bool is_saved = rule.rbp_source() == RbpSource::cfa_slot || rule.rbp_source() == RbpSource::rbp_slot;
  if (rule.rbp_source() == RbpSource::lost || (is_saved && !bounds.load(rbp_slot, at.rbp))) at.rbp = 0;
  at.sp = cfa;
  if (at.key == 0) return StepResult::end;
  return is_program_address(at.key) ? StepResult::caller : StepResult::unfollowable;
}

// Moves `at` to the caller. On any other result only pc_slot and key are
// meaningful: the word that ended the walk, if one did.
inline StepResult step(StackBounds& bounds, OwnStack& own, Rule rule, Registers& at) {
  std::uint64_t cfa;
  switch (rule.type()) {
    case RuleType::rsp_offset: cfa = at.sp + static_cast<std::uint64_t>(rule.cfa_offset()); break;
    case RuleType::rbp_offset: cfa = at.rbp + static_cast<std::uint64_t>(rule.cfa_offset()); break;
    case RuleType::rbp_load:
      at.pc_slot = 0;
      if (!bounds.load(at.rbp + static_cast<std::uint64_t>(rule.cfa_offset()), cfa)) return StepResult::unfollowable;
      break;
    case RuleType::signal_frame: return step_through_signal(bounds, own, at);
    default:
      at.pc_slot = 0;
      return rule.type() == RuleType::end ? StepResult::end : StepResult::unfollowable;
  }
  return load_caller(bounds, rule, cfa, at);
}

}  // namespace heapwright::unwind
