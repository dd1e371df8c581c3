// SPDX-License-Identifier: MIT
// A call in progress in a hook, and how it is written to its thread's lane: as in the preloaded recorder
// (record/observe.hpp), the stack is walked after the real call, and errno is not changed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "attach/recorder/threads.hpp"
#include "platform/clock.hpp"
#include "record/ring.hpp"
#include "unwind/node_table.hpp"
#include "unwind/pc_table.hpp"

namespace heapwright::attach::recorder {

using record::Call;
using trace::EventKind;

constexpr std::uint8_t log2_of(std::size_t alignment) noexcept {
  return alignment == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(std::bit_width(alignment) - 1);
}

inline std::uint64_t now_ticks() noexcept {
  return platform::read_ticks((heapwright_agent.control->flags & session::clock_is_tsc) != 0);
}

// A signal handler must not see the agent idle before everything is written.
inline void leave(Thread& thread) noexcept {
  std::atomic_signal_fence(std::memory_order_release);
  thread.activity = Activity::program;
}

// The stack with one frame more, at its inner end. Usually 10 ns.
inline std::uint32_t stack_from(std::uint32_t stack, std::uint64_t function) noexcept {
  const unwind::KnownPc pc = unwind::find_pc(tables(), function + 1);  // as if it returned behind its begin
  if (pc.number == unwind::KnownPc::table_is_full) return stack;
  const std::uint32_t node = unwind::intern_node(tables(), stack, pc.number);
  return node == unwind::node_not_stored ? stack : node;
}

// A call in progress: its begin, and the thread's state until its end. entry: of the real function; count_:
// of none of an allocator.
template <Heap heap>
class Recorded {
 public:
  Recorded(Thread& thread, const void* frame, agent::Entry entry) noexcept
      : thread_(thread), frame_(frame), entry_(entry), begin_ticks_(now_ticks()) {}

  // After the real call. Without durations an allocation counts from its end.
  void made(EventKind kind, void* block, std::size_t size, std::size_t alignment = 0,
            const void* old_block = nullptr) noexcept {
    if (!begin_writing()) return;
    const session::Control& control = *heapwright_agent.control;
    const bool is_timed = (control.flags & session::record_durations) != 0 || old_block != nullptr;
    if (!is_timed) begin_ticks_ = end_ticks_;
    Call call = begun(kind, block, size, alignment);
    call.usable = block == nullptr ? 0 : agent::usable_bytes(agent_of<heap>(), block);
    call.old_address = reinterpret_cast<std::uint64_t>(old_block);
    if ((control.flags & session::record_stacks) != 0) call.stack_node = stack();
    write(call);
    account_self(false);
    leave(thread_);
  }

  // A call that is no heap call, with what its kind keeps.
  void other(Call call) noexcept {
    if (!begin_writing()) return;
    const session::Control& control = *heapwright_agent.control;
    call.begin_ticks = begin_ticks_;
    call.duration_ticks = (control.flags & session::record_durations) != 0 ? end_ticks_ - begin_ticks_ : 0;
    if ((control.flags & session::record_stacks) != 0) call.stack_node = stack();
    write(call);
    leave(thread_);
  }

  void released(EventKind kind, const void* block, std::size_t size, std::size_t alignment) noexcept {
    if (!begin_writing()) return;
    const session::Control& control = *heapwright_agent.control;
    if ((control.flags & session::record_durations) == 0) end_ticks_ = begin_ticks_;
    Call call = begun(kind, block, size, alignment);
    if (call.duration_ticks >= control.free_stack_from_ticks) call.stack_node = stack();
    write(call);
    account_self(true);
    leave(thread_);
  }

 private:
  bool begin_writing() noexcept {
    end_ticks_ = now_ticks();
    thread_.activity = Activity::recorder;
    if (is_still_recorded(thread_)) [[likely]] {
      return true;
    }
    leave(thread_);
    return false;
  }

  Call begun(EventKind kind, const void* block, std::size_t size, std::size_t alignment) const noexcept {
    Call call{.kind = kind};
    call.alignment_log2 = log2_of(alignment);
    call.begin_ticks = begin_ticks_;
    call.duration_ticks = end_ticks_ - begin_ticks_;
    call.size = size;
    call.address = reinterpret_cast<std::uint64_t>(block);
    return call;
  }

  std::uint32_t stack() const noexcept {
    const std::uint32_t captured = unwind::capture(tables(), *thread_.stack, frame_);
    if constexpr (heap == Heap::first) return captured;
    return stack_from(captured, heapwright_agent.second_functions[agent::index_of(entry_)]);
  }

  void write(const Call& call) noexcept {
    const bool fits = record::fits_one_slot(call);
    const std::uint64_t slots = fits ? 1 : 2;
    if (thread_.head + slots <= thread_.limit || make_room(thread_, slots)) [[likely]] {
      fits ? record::write_slot(thread_, call) : record::write_two_slots(thread_, call);
    }
  }

  void account_self(bool is_release) const noexcept {
    if (!session::is_self_cost_sample(thread_.head)) [[likely]] {
      return;
    }
    session::add_self_cost(*thread_.lane, now_ticks() - end_ticks_, is_release);
  }

  Thread& thread_;
  const void* frame_;
  agent::Entry entry_;
  std::uint64_t begin_ticks_;
  std::uint64_t end_ticks_ = 0;
};

}  // namespace heapwright::attach::recorder
