// SPDX-License-Identifier: MIT
//
// capture
//  ├─ the whole stored stack is still there: its node            (most calls in a loop)
//  └─ Walk
//      ├─ collect: inner frames by rule, until a stored frame with an unchanged way to the root
//      └─ store:   new frames behind the kept ones, interning each
#include "unwind/loaded_objects.hpp"
#include "unwind/node_table.hpp"
#include "unwind/pc_table.hpp"
#include "unwind/step.hpp"
#include "unwind/thread_stack.hpp"
#include "unwind/unwind.hpp"

namespace heapwright::unwind {
namespace {

constexpr std::uint32_t no_frame = ~0U;

bool uses_rbp(RuleType type) { return type == RuleType::rbp_offset || type == RuleType::rbp_load; }

// Frames whose caller hangs on more words than the two kinds that
// is_plain_stack_unchanged() compares.
bool is_barrier(Rule rule) {
  return rule.type() == RuleType::rbp_load || rule.type() == RuleType::signal_frame ||
         rule.rbp_source() == RbpSource::rbp_slot;
}

class Walk {
 public:
  Walk(const Tables& tables, ThreadStack& stack, const Registers& start)
      : tables_(tables),
        block_(*tables.block),
        stack_(stack),
        at_(start),
        max_frames_(bounded_frames(tables.max_frames)),
        candidates_(stack.depth),
        splice_limit_(stack.depth) {
    bounds_.enter(stack.own, start.sp);
  }

  std::uint32_t run() {
    if (!collect()) return not_stored();
    return store();
  }

 private:
  static std::uint32_t bounded_frames(std::uint32_t wanted) {
    if (wanted > frame_limit) return frame_limit;
    return wanted == 0 ? 1 : wanted;
  }

  std::uint32_t collected() const { return 2 * frame_limit - first_; }

  // Fills frames[first_ ..) innermost last, and kept_. False: pc table full.
  bool collect() {
    for (;;) {
      const std::uint32_t match = find_match();
      if (match != no_frame && may_splice(match)) {
        kept_ = match + 1;
        return true;
      }
      if (collected() == max_frames_) {
        end_at(StepResult::caller);
        return true;
      }
      const Rule rule = add_frame(match);
      if (rule.type() == RuleType::not_evaluated) return false;
      const StepResult result = step(bounds_, stack_.own, rule, at_);
      if (result != StepResult::caller) {
        end_at(result);
        return true;
      }
    }
  }

  // Index of the stored frame whose state this is.
  std::uint32_t find_match() {
    while (candidates_ != 0 && stack_.frames[candidates_ - 1].sp < at_.sp) --candidates_;
    if (candidates_ == 0) return no_frame;
    return is_same_frame(stack_.frames[candidates_ - 1], at_.key, at_.sp, at_.rbp) ? candidates_ - 1 : no_frame;
  }

  // Whether frames[0 .. match] can be kept as they are. When the way to the
  // root changed somewhere, the frames up to there are walked again: their
  // nodes and RBP values belong to the old root.
  bool may_splice(std::uint32_t match) {
    if (match >= splice_limit_) return false;
    const std::uint32_t depth = collected() + match + 1;
    if (depth > max_frames_ || (stack_.root.is_cut && depth != max_frames_)) {
      splice_limit_ = 0;
      return false;
    }
    const Frame& frame = stack_.frames[match];
    if (frame.is_plain_to_root && bounds_.is_own() && is_plain_stack_unchanged(stack_, match)) return true;
    splice_limit_ = first_unchanged(match);
    return splice_limit_ == 0;
  }

  // Follows the stored frames outwards from `match`, reading nothing beyond
  // what is proven. A stored RBP may be stale where it is not essential; there
  // it reaches no comparison. Returns the index of the last frame reached: 0 and all
  // words unchanged gives 0, otherwise at least 1.
  std::uint32_t first_unchanged(std::uint32_t match) {
    StackBounds bounds = bounds_;
    for (std::uint32_t i = match; i > 0; --i) {
      const Frame& frame = stack_.frames[i];
      const Frame& caller = stack_.frames[i - 1];
      Registers registers{frame.key, frame.sp, i == match ? at_.rbp : frame.rbp, 0};
      const Rule rule{block_.pcs[frame.number].rule.load(std::memory_order_relaxed)};
      if (step(bounds, stack_.own, rule, registers) != StepResult::caller) return i;
      if (!is_same_frame(caller, registers.key, registers.sp, registers.rbp)) return i;
    }
    std::uint64_t value = 0;
    const bool is_root_same =
        stack_.root.slot == 0 || (bounds.load(stack_.root.slot, value) && value == stack_.root.value);
    return is_root_same ? 0 : 1;
  }

  // Adds the frame of at_. Its rule; not_evaluated: the pc table is full.
  Rule add_frame(std::uint32_t match) {
    std::uint32_t number;
    Rule rule;
    if (match != no_frame) {
      number = stack_.frames[match].number;
      rule = Rule{block_.pcs[number].rule.load(std::memory_order_relaxed)};
    } else {
      const KnownPc known = find_pc(block_, at_.key, tables_.ticks_are_tsc);
      if (known.number == KnownPc::table_is_full) return Rule{};
      number = known.number;
      rule = known.rule;
    }
    Frame& frame = stack_.frames[--first_];
    frame.key = at_.key;
    frame.sp = at_.sp;
    frame.rbp = at_.rbp;
    frame.number = number & (session::pc_table_slots - 1);
    frame.is_on_own_stack = bounds_.is_own();
    return rule;
  }

  void end_at(StepResult result) {
    root_.slot = at_.pc_slot;
    root_.value = result == StepResult::caller ? at_.key & session::pc_mask : at_.key;
    root_.is_cut = result == StepResult::caller;
    root_.base_node = result == StepResult::end ? 0 : stack_.truncated_node;
  }

  std::uint32_t store() {
    // A signal handler that leaves by longjmp may abandon us anywhere: what
    // it leaves behind must read as empty.
    stack_.depth = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (kept_ == 0) stack_.root = root_;
    std::uint32_t end = kept_;
    for (std::uint32_t from = first_; from < 2 * frame_limit; ++from, ++end) {
      if (!place(stack_.frames[from], end)) return not_stored();
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    stack_.depth = end;
    return stack_.frames[end - 1].node;
  }

  // Makes `source` the frame at `index`, which all outer ones precede.
  bool place(const Frame& source, std::uint32_t index) {
    const Frame outermost{.key = 0, .sp = 0, .rbp = 0, .node = stack_.root.base_node, .number = 0,
                          .saved_rbp_count = 0, .is_rbp_essential = 0, .is_barrier = 0,
                          .is_on_own_stack = 1, .is_plain_to_root = 1};
    const Frame& caller = index == 0 ? outermost : stack_.frames[index - 1];
    Frame frame = source;
    const Rule rule{block_.pcs[frame.number].rule.load(std::memory_order_relaxed)};
    const RuleType type = rule.type();
    frame.node = intern_node(block_, caller.node, frame.number);
    if (frame.node == node_not_stored) return false;
    const bool needs_rbp_for_caller =
        rule.rbp_source() == RbpSource::unchanged || rule.rbp_source() == RbpSource::rbp_slot;
    frame.is_rbp_essential = uses_rbp(type) || (caller.is_rbp_essential && needs_rbp_for_caller &&
                                                type != RuleType::signal_frame);
    frame.is_barrier = is_barrier(rule);
    frame.saved_rbp_count = caller.saved_rbp_count;
    if (caller.is_rbp_essential && rule.rbp_source() == RbpSource::cfa_slot && !frame.is_barrier) {
      remember_saved_rbp(frame, caller, rule);
    }
    frame.is_plain_to_root = caller.is_plain_to_root && !frame.is_barrier && frame.is_on_own_stack;
    stack_.frames[index] = frame;
    return true;
  }

  void remember_saved_rbp(Frame& frame, const Frame& caller, Rule rule) {
    const std::uint64_t slot = caller.sp + static_cast<std::uint64_t>(rule.rbp_offset());
    if (slot < frame.sp || slot >= caller.sp || (slot & 7) != 0) {
      frame.is_barrier = 1;
      return;
    }
    stack_.saved_rbp[frame.saved_rbp_count++] = {slot, caller.rbp};
  }

  std::uint32_t not_stored() {
    stack_.depth = 0;
    block_.stacks_not_stored.fetch_add(1, std::memory_order_relaxed);
    return stack_.table_full_node;
  }

  const Tables& tables_;
  session::ProcessBlock& block_;
  ThreadStack& stack_;
  Registers at_;
  StackBounds bounds_;
  Root root_;
  std::uint32_t max_frames_;
  std::uint32_t candidates_;    // frames[0, candidates_) may still match
  std::uint32_t splice_limit_;  // frames at or beyond it are known not to lead to the stored root
  std::uint32_t first_ = 2 * frame_limit;
  std::uint32_t kept_ = 0;
};

// The marks take the first nodes of a process, when there is room for sure.
[[gnu::noinline, gnu::cold]] void intern_marks(const Tables& tables, ThreadStack& stack) {
  stack.truncated_node = intern_node(*tables.block, 0, session::mark_truncated);
  stack.table_full_node = intern_node(*tables.block, 0, session::mark_table_full);
}

[[gnu::noinline]] std::uint32_t walk(const Tables& tables, ThreadStack& stack, const Registers& start) {
  if (stack.table_full_node == 0) [[unlikely]] intern_marks(tables, stack);
  return Walk(tables, stack, start).run();
}

}  // namespace

std::size_t thread_stack_bytes() noexcept {
  static_assert(sizeof(ThreadStack) <= 12 * 1024);
  return sizeof(ThreadStack);
}

ThreadStack* begin_thread(void* memory) noexcept {
  auto* stack = static_cast<ThreadStack*>(memory);
  stack->own = find_own_stack(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
  stack->epoch = module_epoch();
  return stack;
}

std::uint32_t capture(const Tables& tables, ThreadStack& stack, const void* hook_frame) noexcept {
  const auto frame = reinterpret_cast<std::uint64_t>(hook_frame);
  const Registers start{load_word(frame + 8), frame + 16, load_word(frame), 0};
  const std::uint32_t epoch = module_epoch();
  if (stack.epoch != epoch) [[unlikely]] {
    stack.depth = 0;
    stack.epoch = epoch;
  }
  if (stack.depth != 0) {
    const std::uint32_t top = stack.depth - 1;
    const Frame& inner = stack.frames[top];
    if (is_same_frame(inner, start.key, start.sp, start.rbp) && inner.is_plain_to_root &&
        is_plain_stack_unchanged(stack, top)) {
      return inner.node;
    }
  }
  return walk(tables, stack, start);
}

void forget_unloaded(const Tables& tables) noexcept {
  retire_unloaded_modules(*tables.block, tables.ticks_are_tsc);
}

}  // namespace heapwright::unwind
