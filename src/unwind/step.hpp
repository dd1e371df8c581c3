// SPDX-License-Identifier: MIT
// One step outwards: from a frame's registers to its caller's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "session/layout.hpp"
#include "unwind/rule.hpp"
#include "unwind/stack_bounds.hpp"

namespace heapwright::unwind {

struct Registers {
  std::uint64_t key;  // pc, with pc_key_exact after a signal frame
  std::uint64_t sp;
  std::uint64_t rbp;
  std::uint64_t pc_slot;  // where key was loaded from; 0 = unknown
#if defined(__aarch64__)
  std::uint64_t link = 0;  // x30, known after a signal frame
#endif
};

enum class StepResult : std::uint8_t {
  caller,
  end,  // there is none
  unfollowable,
  no_tables,
  no_object,
};
inline constexpr std::size_t step_results = 5;

// The position of a walk. Passed by value to the rare cases, so that the compiler keeps it in registers in
// the common ones.
struct WalkPoint {
  Registers at;
  StackBounds bounds;
  StepResult result;
};

WalkPoint step_rare(WalkPoint point, OwnStack& own, Rule rule) noexcept;

// By the frame record at RBP alone: for a frame that was followed by it before, when its code was looked at.
// As step().
void step_by_known_record(WalkPoint& point) noexcept;

#if defined(__aarch64__)
inline constexpr unsigned address_bits = 48;
#else
inline constexpr unsigned address_bits = 47;
#endif
inline bool is_program_address(std::uint64_t pc) { return pc - 4096 < (1ULL << address_bits) - 4096; }

// Moves to the caller whose stack pointer is `cfa`.
[[gnu::always_inline]] inline void step_to(WalkPoint& point, Rule rule, std::uint64_t cfa) {
  Registers& at = point.at;
  std::uint64_t pc;
  const std::uint64_t pc_slot = cfa + static_cast<std::uint64_t>(rule.return_address_offset());
  if (cfa <= at.sp || !point.bounds.load(pc_slot, pc)) [[unlikely]] {
    at.pc_slot = 0;
    point.result = StepResult::unfollowable;
    return;
  }
  if (rule.rbp_source() != RbpSource::unchanged) {
    // RBP holds ordinary data in most frames: an unreadable slot is not a reason to stop, only a frame that
    // needs it is.
    const std::uint64_t base = rule.rbp_source() == RbpSource::cfa_slot ? cfa : at.rbp;
    const std::uint64_t slot = base + static_cast<std::uint64_t>(rule.rbp_offset());
    if (rule.rbp_source() == RbpSource::lost || !point.bounds.load(slot, at.rbp)) at.rbp = 0;
  }
  pc = code_address(pc);
  at.key = pc;
  at.sp = cfa;
  at.pc_slot = pc_slot;
  if (is_program_address(pc)) [[likely]] {
    return;
  }
  point.result = pc == 0 ? StepResult::end : StepResult::unfollowable;
}

// Moves `point` to the caller; its result must be StepResult::caller. After any other result only pc_slot and
// key are meaningful: the word that ended the walk, if any.
[[gnu::always_inline]] inline void step(WalkPoint& point, OwnStack& own, Rule rule) {
  const auto offset = static_cast<std::uint64_t>(rule.cfa_offset());
  if (rule.type() == RuleType::rsp_offset) [[likely]] {
    step_to(point, rule, point.at.sp + offset);
  } else if (rule.type() == RuleType::rbp_offset) {
    step_to(point, rule, point.at.rbp + offset);
  } else {
    point = step_rare(point, own, rule);
  }
}

}  // namespace heapwright::unwind
