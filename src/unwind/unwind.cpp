// SPDX-License-Identifier: MIT
//
// capture
//  ├─ the whole stored stack is still there: its node            (most calls in a loop)
//  └─ Walk
//      ├─ collect: inner frames by rule, until a stored frame with an unchanged path to the root
//      └─ store:   new frames after the kept ones, interning each
#include "unwind/unwind.hpp"

#include "unwind/loaded_objects.hpp"
#include "unwind/node_table.hpp"
#include "unwind/pc_table.hpp"
#include "unwind/python_frames.hpp"
#include "unwind/return_address.hpp"
#include "unwind/step.hpp"
#include "unwind/thread_stack.hpp"

namespace heapwright::unwind {
namespace {

constexpr std::uint32_t scratch_end = 2 * frame_limit;

Rule rule_of(const session::ProcessBlock& block, const Frame& frame) {
  return Rule{block.pcs[frame.facts.pc_number()].rule.load(std::memory_order_relaxed)};
}

std::uint32_t bounded_frames(std::uint32_t wanted) {
  if (wanted > frame_limit) return frame_limit;
  return wanted == 0 ? 1 : wanted;
}

// Like first_change_of_plain(), but for any stack: goes strictly outwards from `point`, the live registers of
// frames[match], and reads nothing beyond what is proven.
[[gnu::noinline, gnu::cold]] std::uint32_t first_change(const session::ProcessBlock& block,
                                                        ThreadStack& stack, WalkPoint point,
                                                        std::uint32_t match) {
  for (std::uint32_t i = match; i > 0; --i) {
    const Frame& callee = stack.frames()[i];
    if (callee.facts.has(FrameFacts::by_frame_pointer)) {
      step_by_known_record(point);
    } else {
      step(point, stack.own, rule_of(block, callee));
    }
    if (point.result != StepResult::caller) return i;
    const Frame& caller = stack.frames()[i - 1];
    if (!is_same_frame(caller, point.at.key, point.at.sp, point.at.rbp)) return i;
  }
  std::uint64_t value = 0;
  const bool is_root_same = stack.root.slot == 0 || (point.bounds.load(stack.root.slot, value) &&
                                                     code_address(value) == stack.root.value);
  return is_root_same ? 0 : 1;
}

class Walk {
 public:
  // `splice_limit`: stored frames at or beyond it are known not to lead to the stored root.
  [[gnu::always_inline]] Walk(const Tables& tables, ThreadStack& stack, const Registers& start,
                              std::uint32_t splice_limit)
      : tables_(tables),
        block_(*tables.block),
        stack_(stack),
        point_{start, {}, StepResult::caller},
        candidate_(stack.frames() + stack.depth - 1),
        splice_limit_(stack.frames() + splice_limit),
        first_(stack.frames() + scratch_end),
        full_(first_ - bounded_frames(tables.max_frames)) {
    point_.bounds.enter(stack.own, start.sp);
  }

  [[gnu::always_inline]] std::uint32_t run() { return collect() ? store() : not_stored(); }

 private:
  // Fills frames [first_, end) innermost last, and kept_. False: pc table full.
  [[gnu::always_inline]] bool collect() {
    while (point_.result == StepResult::caller) {
      while (candidate_->sp < point_.at.sp) --candidate_;
      const bool is_known = is_same_frame(*candidate_, point_.at.key, point_.at.sp, point_.at.rbp);
      if (is_known && may_splice()) {
        kept_ = static_cast<std::uint32_t>(candidate_ - stack_.frames()) + 1;
        return true;
      }
      if (first_ == full_) return true;
      KnownPc known;
      if (is_known) {
        known = {candidate_->facts.pc_number(), rule_of(block_, *candidate_)};
      } else {
        known = find_pc(tables_, point_.at.key);
        if (known.number == KnownPc::table_is_full) [[unlikely]] {
          return false;
        }
      }
      add_frame(known);
      step(point_, stack_.own, known.rule);
    }
    return true;
  }

  // Whether *candidate_ and all outer frames can be kept unchanged. If the path to the root has changed
  // somewhere, the frames up to there are walked again: their nodes and RBP values belong to the old root.
  [[gnu::always_inline]] bool may_splice() {
    if (candidate_ >= splice_limit_) return false;
    const auto match = static_cast<std::uint32_t>(candidate_ - stack_.frames());
    const std::ptrdiff_t room = first_ - full_ - (match + 1);
    if (room < 0 || (stack_.root.is_cut && room != 0)) [[unlikely]] {
      splice_limit_ = stack_.frames();
      return false;
    }
    const bool is_plain = candidate_->facts.has(FrameFacts::plain_to_root) && point_.bounds.is_own();
    const std::uint32_t limit =
        is_plain ? first_change_of_plain(stack_, match) : first_change(block_, stack_, point_, match);
    splice_limit_ = stack_.frames() + limit;
    return limit == 0;
  }

  [[gnu::always_inline]] void add_frame(const KnownPc& known) {
    Frame& frame = *--first_;
    frame.key = point_.at.key;
    frame.sp = point_.at.sp;
    frame.rbp = point_.at.rbp;
    frame.set_pc_slot(point_.at.pc_slot);
    const std::uint32_t own = point_.bounds.is_own() ? FrameFacts::on_own_stack : 0;
    frame.facts = FrameFacts(known.number, 0, known.rule.traits() << FrameFacts::trait_shift | own);
  }

  Root new_root() const {
    Root root;
    const Registers& at = point_.at;
    root.is_cut = point_.result == StepResult::caller;
    root.slot = at.pc_slot;
    root.value = root.is_cut ? at.key & session::pc_mask : at.key;
    root.base_node = stack_.end_nodes[static_cast<std::size_t>(point_.result)];
    return root;
  }

  [[gnu::always_inline]] std::uint32_t store() {
    // A signal handler that leaves by longjmp may abandon us anywhere: the state left behind must read as
    // empty.
    stack_.depth = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    Frame* to = stack_.frames() + kept_;
    std::uint32_t node;
    FrameFacts facts;
    if (kept_ != 0) {
      node = to[-1].node;
      facts = to[-1].facts;
    } else {
      stack_.root = new_root();
      node = stack_.root.base_node;
      facts = FrameFacts(FrameFacts::plain_to_root);
    }
    for (const Frame* from = first_; from != stack_.frames() + scratch_end; ++from, ++to) {
      if (from->facts.has(FrameFacts::by_frame_pointer) && to != stack_.frames()) [[unlikely]] {
        node = intern(node, session::mark_by_frame_pointer);
      }
      node = intern(node, from->facts.pc_number());
      if (node == node_not_stored) [[unlikely]] {
        return not_stored();
      }
      facts = facts_below(facts, to, *from);
      to->key = from->key;
      to->sp = from->sp;
      to->rbp = from->rbp;
      to->node = node;
      to->facts = facts;
      to->set_pc_slot(from->pc_slot());
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    stack_.depth = static_cast<std::uint32_t>(to - stack_.frames());
    return node;
  }

  [[gnu::always_inline]] std::uint32_t intern(std::uint32_t parent, std::uint32_t frame) {
    const std::uint64_t word = node_word(parent, frame);
    std::uint32_t& hint =
        stack_.node_hints[word * 0x9e3779b97f4a7c15ULL >> (64 - ThreadStack::node_hint_bits)];
    if (nodes_of(tables_)[hint].load(std::memory_order_relaxed) != word) {
      hint = intern_node(tables_, parent, frame);
    }
    return hint;
  }

  // Facts of `frame`, to be placed at `to`, from its own facts and those of its caller, which is placed
  // before it.
  [[gnu::always_inline]] FrameFacts facts_below(FrameFacts caller, const Frame* to, const Frame& frame) {
    constexpr std::uint32_t count_mask = 0xffU << FrameFacts::count_shift;
    std::uint32_t bits = frame.facts.bits() | (caller.bits() & count_mask);
    if (caller.has(FrameFacts::rbp_essential)) bits = carry_rbp(bits, to[-1], frame);
    constexpr std::uint32_t plain_here = FrameFacts::on_own_stack | FrameFacts::barrier;
    if ((bits & plain_here) == FrameFacts::on_own_stack) bits |= caller.bits() & FrameFacts::plain_to_root;
    return FrameFacts(bits);
  }

  // The caller's RBP is needed: so is the word or register that it came from.
  std::uint32_t carry_rbp(std::uint32_t bits, const Frame& caller, const Frame& frame) {
    const Rule rule = rule_of(block_, frame);
    if (rule.type() == RuleType::signal_frame) return bits;
    if ((bits & FrameFacts::passes_rbp) != 0) return bits | FrameFacts::rbp_essential;
    if (rule.rbp_source() != RbpSource::cfa_slot) return bits;
    const std::uint64_t slot = caller.sp + static_cast<std::uint64_t>(rule.rbp_offset());
    const bool is_inside = slot >= frame.sp && slot < caller.sp && (slot & 7) == 0;
    if (!is_inside) return bits | FrameFacts::barrier;
    stack_.saved_rbp[FrameFacts(bits).saved_rbp_count()] = {slot, caller.rbp};
    return bits + (1U << FrameFacts::count_shift);
  }

  std::uint32_t not_stored() {
    stack_.depth = 0;
    block_.stacks_not_stored.fetch_add(1, std::memory_order_relaxed);
    return stack_.table_full_node;
  }

  const Tables& tables_;
  session::ProcessBlock& block_;
  ThreadStack& stack_;
  WalkPoint point_;
  const Frame* candidate_;  // innermost stored frame that may still match
  const Frame* splice_limit_;
  Frame* first_;       // outermost collected frame
  const Frame* full_;  // limit for first_
  std::uint32_t kept_ = 0;
};

// The marks take the first nodes of a process, when there certainly is room. Runs before a thread's first
// walk, so it also sets the search's sentinel.
[[gnu::noinline, gnu::cold]] void prepare_first_walk(const Tables& tables, ThreadStack& stack) {
  stack.storage[0].sp = ~0ULL;
  const auto mark = [&](StepResult result, std::uint32_t number) {
    stack.end_nodes[static_cast<std::size_t>(result)] = intern_node(tables, 0, number);
  };
  mark(StepResult::caller, session::mark_too_deep);
  mark(StepResult::unfollowable, session::mark_truncated);
  mark(StepResult::no_tables, session::mark_no_tables);
  mark(StepResult::no_object, session::mark_no_object);
  stack.table_full_node = intern_node(tables, 0, session::mark_table_full);
}

[[gnu::noinline]] std::uint32_t walk(const Tables& tables, ThreadStack& stack, const Registers& start,
                                     std::uint32_t splice_limit) {
  if (stack.table_full_node == 0) [[unlikely]] {
    prepare_first_walk(tables, stack);
  }
  return Walk(tables, stack, start, splice_limit).run();
}

[[gnu::always_inline]] inline std::uint32_t walk_or_reuse(const Tables& tables, ThreadStack& stack,
                                                          const Registers& start) {
  std::uint32_t splice_limit = stack.depth;
  if (splice_limit != 0) {
    const Frame& inner = stack.frames()[splice_limit - 1];
    if (is_same_frame(inner, start.key, start.sp, start.rbp) && inner.facts.has(FrameFacts::plain_to_root)) {
      splice_limit = first_change_of_plain(stack, splice_limit - 1);
      if (splice_limit == 0) return inner.node;
    }
  }
  return walk(tables, stack, start, splice_limit);
}

#if defined(__aarch64__)
// A frame record does not tell where its frame ends. So a walk begins at the caller of capture(), in the
// recorder, and goes on by rule until it has left the hook.
Registers registers_at(const Tables& tables, ThreadStack& stack, const void* hook_frame,
                       const Registers& captured_at) {
  constexpr int most_own_frames = 8;
  const auto hook = reinterpret_cast<std::uint64_t>(hook_frame);
  WalkPoint point{captured_at, {}, StepResult::caller};
  point.bounds.enter(stack.own, point.at.sp);
  for (int i = 0; i < most_own_frames && point.at.sp <= hook && point.result == StepResult::caller; ++i) {
    const KnownPc known = find_pc(tables, point.at.key);
    if (known.number == KnownPc::table_is_full) break;
    step(point, stack.own, known.rule);
  }
  if (point.at.sp > hook && point.result == StepResult::caller) return point.at;
  return {code_address(load_word(hook + 8)), hook + 16, load_word(hook), hook + 8};
}

#define HEAPWRIGHT_REGISTERS_AT(tables, stack, hook_frame)                                  \
  registers_at(tables, stack, hook_frame,                                                   \
               {code_address(reinterpret_cast<std::uint64_t>(__builtin_return_address(0))), \
                reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()),                     \
                load_word(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0))), 0})
#else
Registers registers_at(const void* hook_frame) {
  const auto frame = reinterpret_cast<std::uint64_t>(hook_frame);
  return {load_word(frame + 8), frame + 16, load_word(frame), 0};
}

#define HEAPWRIGHT_REGISTERS_AT(tables, stack, hook_frame) registers_at(hook_frame)
#endif

void forget_other_epoch(ThreadStack& stack, std::uint32_t epoch) {
  if (stack.epoch == (epoch & ~epoch_with_interpreter)) return;
  stack.depth = 0;
  stack.epoch = epoch & ~epoch_with_interpreter;
}

// In a process with a CPython every capture comes here: the epoch has a mark that a stack's never has.
[[gnu::noinline]] std::uint32_t capture_with_python(const Tables& tables, ThreadStack& stack,
                                                    const Registers& start, std::uint32_t epoch) {
  forget_other_epoch(stack, epoch);
  const std::uint32_t node = walk_or_reuse(tables, stack, start);
  if (tables.interpreter == nullptr || stack.python == nullptr) return node;
  if (tables.interpreter->own_tables() == nullptr) return node;
  return add_python_frames(tables, stack, start.sp, node);
}

}  // namespace

std::size_t thread_stack_bytes() noexcept {
  static_assert(sizeof(ThreadStack) <= 14 * 1024);
  return sizeof(ThreadStack);
}

ThreadStack* begin_thread(const Tables& tables, void* memory, void* python_memory) noexcept {
  auto* stack = static_cast<ThreadStack*>(memory);
  stack->own =
      find_own_stack(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)), &tables.block->is_confined);
  stack->epoch = module_epoch() & ~epoch_with_interpreter;
  stack->python = static_cast<PythonStack*>(python_memory);
  allow_copies_of_code(*tables.block);
  return stack;
}

std::uint32_t capture(const Tables& tables, ThreadStack& stack, const void* hook_frame) noexcept {
  const Registers start = HEAPWRIGHT_REGISTERS_AT(tables, stack, hook_frame);
  const std::uint32_t epoch = module_epoch();
  if (stack.epoch != epoch) [[unlikely]] {
    if ((epoch & epoch_with_interpreter) != 0) return capture_with_python(tables, stack, start, epoch);
    stack.depth = 0;
    stack.epoch = epoch;
  }
  return walk_or_reuse(tables, stack, start);
}

std::uint32_t capture_native(const Tables& tables, ThreadStack& stack, const void* hook_frame) noexcept {
  forget_other_epoch(stack, module_epoch());
  return walk_or_reuse(tables, stack, HEAPWRIGHT_REGISTERS_AT(tables, stack, hook_frame));
}

void forget_unloaded(const Tables& tables) noexcept { retire_unloaded_modules(tables); }

}  // namespace heapwright::unwind
