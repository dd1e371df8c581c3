// SPDX-License-Identifier: MIT
#include "unwind/step.hpp"

#include "unwind/return_address.hpp"
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
#if defined(__aarch64__)
  if (!point.bounds.load(context + signal_frame_link_offset, at.link)) return false;
#endif
  at.pc_slot = context + signal_frame_rip_offset;
  if (!is_program_address(at.key)) return false;
  at.key |= session::pc_key_exact;
  point.bounds.enter(own, at.sp - red_zone_bytes);
  return true;
}

#if defined(__aarch64__)
void step_by_link(WalkPoint& point, Rule rule) {
  Registers& at = point.at;
  const bool is_interrupted = (at.key & session::pc_key_exact) != 0;
  at.pc_slot = 0;
  at.key = code_address(at.link);
  at.sp += static_cast<std::uint64_t>(rule.cfa_offset());
  if (is_interrupted && is_program_address(at.key)) point.result = StepResult::caller;
}
#endif

// A frame record farther above the stack pointer is not that of a function that is running.
constexpr std::uint64_t max_frame_bytes = 1 << 20;

// False: there is no record.
bool load_record(WalkPoint& point, std::uint64_t& caller_rbp, std::uint64_t& pc) {
  const std::uint64_t record = point.at.rbp;
  if (record < point.at.sp || record - point.at.sp >= max_frame_bytes) return false;
  return point.bounds.load(record, caller_rbp) && point.bounds.load(record + 8, pc);
}

// Whether nothing between the stack pointer and the frame record can be a return address: then the record is
// that of the function that runs, and not of one further out. What was left there by earlier calls may look
// like one, and end the stack early.
bool is_record_of_running(WalkPoint& point, const OwnStack& own, std::uint64_t record) {
  constexpr std::uint64_t most_bytes = 4096;
  const std::uint64_t called = point.at.key & session::pc_mask;
  if (record - point.at.sp > most_bytes) return false;
  for (std::uint64_t slot = point.at.sp; slot < record; slot += 8) {
    std::uint64_t word = 0;
    if (!point.bounds.load(slot, word)) return false;
    if (!is_program_address(word)) continue;
    if (may_be_return_address(word, called, own.is_confined)) return false;
  }
  return true;
}

// By the frame record at RBP, the caller's RBP and the return address; only if all of it holds.
bool step_by_frame_pointer(WalkPoint& point, const OwnStack& own, bool is_in_object) {
  Registers& at = point.at;
  const std::uint64_t record = at.rbp;
  std::uint64_t caller_rbp = 0;
  std::uint64_t pc = 0;
  at.pc_slot = 0;
  if (!load_record(point, caller_rbp, pc)) return false;
  // Memory of no object has no order of functions that is known: what was found before the code may be
  // another's.
  const bool is_certain = is_in_object || is_record_of_running(point, own, record);
  const std::uint64_t called = at.key;
  const bool is_pc = is_certain && is_program_address(pc) &&
                     (may_return_from(called, pc, own.is_confined, !is_in_object) ||
                      (is_in_object && is_record_of_running(point, own, record) &&
                       may_return_from(called, pc, own.is_confined, true)));
  at.pc_slot = record + 8;
  at.key = pc;
  if (!is_pc) return false;
  at.sp = record + 16;
  at.rbp = caller_rbp;
  return true;
}

// From the thread's own stack, on which Go calls C, to the goroutine's.
bool step_to_goroutine(WalkPoint& point, OwnStack& own, Rule rule) {
  constexpr std::uint64_t stack_end_offset = 8;  // in runtime.g
  Registers& at = point.at;
  const std::uint64_t called = at.key;
  std::uint64_t depth = 0;
  std::uint64_t goroutine = 0;
  std::uint64_t end = 0;
  at.pc_slot = 0;
  if (!point.bounds.load(at.sp + rule.depth_offset(), depth)) return false;
  if (!point.bounds.load(at.sp + rule.goroutine_offset(), goroutine)) return false;
  if (!is_program_address(goroutine)) return false;
  point.bounds.enter(own, goroutine);
  if (!point.bounds.load(goroutine + stack_end_offset, end) || !is_program_address(end - depth)) return false;
  const std::uint64_t left_at = end - depth;
  point.bounds.enter(own, left_at);
  at.sp = left_at + static_cast<std::uint64_t>(rule.cfa_offset());
  if (rule.cfa_offset() > 8 && !point.bounds.load(left_at, at.rbp)) return false;
  if (!point.bounds.load(at.sp - 8, at.key)) return false;
  at.pc_slot = at.sp - 8;
  return is_program_address(at.key) && may_return_from(called, at.key, own.is_confined, true);
}

// From a goroutine's stack back to the thread's own, where C called Go.
bool step_to_c(WalkPoint& point, OwnStack& own) {
  Registers& at = point.at;
  const std::uint64_t called = at.key;
  const std::uint64_t record = at.rbp;
  at.pc_slot = 0;
  if (!is_program_address(record)) return false;
  point.bounds.enter(own, record);
  if (!point.bounds.load(record, at.rbp) || !point.bounds.load(record + 8, at.key)) return false;
  at.sp = record + 16;
  at.pc_slot = record + 8;
  return is_program_address(at.key) && may_return_from(called, at.key, own.is_confined, true);
}

bool is_end_of_goroutine(WalkPoint& point, const OwnStack& own) {
  std::uint64_t rbp = 0;
  std::uint64_t pc = 0;
  return load_record(point, rbp, pc) && is_program_address(pc) && is_goroutine_end(pc, own.is_confined);
}

// Its code is about to return.
bool step_before_return(WalkPoint& point, const OwnStack& own, Rule rule) {
  const std::uint64_t called = point.at.key;
  point.result = StepResult::caller;
  step_to(point, rule, point.at.sp + static_cast<std::uint64_t>(rule.cfa_offset()));
  return point.result == StepResult::caller && may_return_from(called, point.at.key, own.is_confined, false);
}

WalkPoint step_without_tables(WalkPoint point, OwnStack& own, Rule rule) {
  point.at.pc_slot = 0;
  if (rule.is_goroutine_switch()) {
    point.result = step_to_goroutine(point, own, rule) ? StepResult::caller : StepResult::unfollowable;
    return point;
  }
  if (rule.is_callback_from_c()) {
    point.result = step_to_c(point, own) ? StepResult::caller : StepResult::unfollowable;
    return point;
  }
  if (rule.type() == RuleType::no_object) {
    point.result = StepResult::no_object;
  } else {
    point.result = rule.has_no_tables() ? StepResult::no_tables : StepResult::unfollowable;
  }
  const bool has_frame_pointer = (rule.traits() & Rule::by_frame_pointer) != 0;
  if (has_frame_pointer && step_by_frame_pointer(point, own, rule.type() != RuleType::no_object)) {
    point.result = StepResult::caller;
  } else if (has_frame_pointer && is_end_of_goroutine(point, own)) {
    point.result = StepResult::end;
  }
  if (rule.type() == RuleType::no_object && rule.rbp_source() == RbpSource::unchanged) {
    if (!step_before_return(point, own, rule)) point.result = StepResult::no_object;
  }
  return point;
}

}  // namespace

void step_by_known_record(WalkPoint& point) noexcept {
  Registers& at = point.at;
  const std::uint64_t record = at.rbp;
  at.pc_slot = record + 8;
  if (load_record(point, at.rbp, at.key)) {
    at.sp = record + 16;
  } else {
    at.pc_slot = 0;
    point.result = StepResult::unfollowable;
  }
}

[[gnu::cold]] WalkPoint step_rare(WalkPoint point, OwnStack& own, Rule rule) noexcept {
  point.result = StepResult::unfollowable;
  switch (rule.type()) {
#if defined(__aarch64__)
    case RuleType::link_register:
      step_by_link(point, rule);
      return point;
#else
    case RuleType::rbp_load: {
      std::uint64_t cfa = 0;
      const std::uint64_t slot = point.at.rbp + static_cast<std::uint64_t>(rule.cfa_offset());
      point.at.pc_slot = 0;
      if (!point.bounds.load(slot, cfa)) return point;
      point.result = StepResult::caller;
      step_to(point, rule, cfa);
      return point;
    }
#endif
    case RuleType::signal_frame:
      if (step_through_signal(point, own)) point.result = StepResult::caller;
      return point;
    case RuleType::end:
      point.result = StepResult::end;
      point.at.pc_slot = 0;
      return point;
    default:
      return step_without_tables(point, own, rule);
  }
}

}  // namespace heapwright::unwind
