// SPDX-License-Identifier: MIT
// What every entry point does around the real call.
//
//   enter() → real function → finish_allocation() / finish_release()
//
// The stack is captured after the real call, so that the duration covers only the real call. In timestamp
// order an address never has two owners: a free counts from its begin, an allocation from its end. (Some
// processors read the time stamp counter a few nanoseconds ahead of earlier instructions: among one thread's
// calls, the order of writing decides.) So with durations off, an allocation is stamped at its end, and only
// a realloc, which is both, still has two stamps.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "platform/clock.hpp"
#include "record/enter.hpp"
#include "record/real_functions.hpp"
#include "record/sampling.hpp"

#define HEAPWRIGHT_HOOK extern "C" __attribute__((visibility("default")))

namespace heapwright::record {

[[gnu::always_inline]] inline std::uint64_t now_ticks() noexcept {
  return platform::read_ticks(process.ticks_are_tsc);
}

[[gnu::always_inline]] inline void leave(ThreadRecorder& thread) noexcept {
  // The compiler must not move the ring's writes past this point: a signal handler would see the recorder
  // idle too early.
  std::atomic_signal_fence(std::memory_order_release);
  thread.activity = Activity::program;
}

[[gnu::always_inline]] inline std::uint32_t stack_at(ThreadRecorder& thread, const void* frame) noexcept {
  return unwind::capture(process.tables, *thread.stack, frame);
}

// Asks the process's allocator for a block's usable size; a block of another allocator has its own query
// (own_name_hooks.hpp).
struct UsableOfProcess {
  std::size_t operator()(void* block) const noexcept { return real.usable_bytes(block); }
};

[[gnu::always_inline]] inline void account_self(ThreadRecorder& thread, std::uint64_t since_ticks,
                                                bool is_release) noexcept {
  if (!session::is_self_cost_sample(thread.head)) [[likely]] {
    return;
  }
  session::add_self_cost(*thread.lane, now_ticks() - since_ticks, is_release);
}

[[gnu::always_inline]] inline std::uint64_t begin_if_timed() noexcept {
  return process.durations ? now_ticks() : 0;
}

// After a real allocation function returned `block` (nullptr: it failed). `begin_ticks` 0: not measured.
template <typename Usable = UsableOfProcess>
[[gnu::always_inline]] inline void finish_allocation(ThreadRecorder& thread, const void* frame,
                                                     EventKind kind, std::uint64_t begin_ticks, void* block,
                                                     std::size_t size, std::size_t alignment = 0,
                                                     const void* old_block = nullptr) noexcept {
  const std::uint64_t end_ticks = now_ticks();
  thread.activity = Activity::recorder;
  Call call{.kind = kind};
  call.begin_ticks = begin_ticks == 0 ? end_ticks : begin_ticks;
  call.duration_ticks = end_ticks - call.begin_ticks;
  call.size = size;
  call.usable = block == nullptr ? 0 : Usable{}(block);
  call.address = reinterpret_cast<std::uintptr_t>(block);
  call.old_address = reinterpret_cast<std::uintptr_t>(old_block);
  call.alignment_log2 =
      alignment == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(std::bit_width(alignment) - 1);
  call.stack_node = process.stacks ? stack_at(thread, frame) : 0;
  emit(thread, call);
  account_self(thread, end_ticks, false);
  leave(thread);
}

// After a real release function returned; `begin_ticks` is from begin_release().
[[gnu::always_inline]] inline void finish_release(ThreadRecorder& thread, const void* frame, EventKind kind,
                                                  std::uint64_t begin_ticks, const void* block,
                                                  std::size_t size = 0, std::size_t alignment = 0) noexcept {
  const std::uint64_t end_ticks = process.durations ? now_ticks() : begin_ticks;
  thread.activity = Activity::recorder;
  Call call{.kind = kind};
  call.begin_ticks = begin_ticks;
  call.duration_ticks = end_ticks - begin_ticks;
  call.size = size;
  call.address = reinterpret_cast<std::uintptr_t>(block);
  call.alignment_log2 =
      alignment == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(std::bit_width(alignment) - 1);
  call.stack_node = call.duration_ticks >= process.free_stack_from_ticks ? stack_at(thread, frame) : 0;
  emit(thread, call);
  account_self(thread, end_ticks, true);
  leave(thread);
}

// A call that is an event but neither allocates nor frees a heap block. Of mappings, the interpreter is the
// caller.
[[gnu::always_inline]] inline void finish_other(ThreadRecorder& thread, const void* frame, Call call,
                                                std::uint64_t begin_ticks) noexcept {
  call.begin_ticks = begin_ticks;
  call.duration_ticks = process.durations ? now_ticks() - begin_ticks : 0;
  thread.activity = Activity::recorder;
  call.stack_node = process.stacks ? unwind::capture_native(process.tables, *thread.stack, frame) : 0;
  emit(thread, call);
  leave(thread);
}

// Begins a hook like enter(), and counts down for an allocation that is not sampled. nullptr: there is more
// to do, or sampling is off.
[[gnu::always_inline]] inline ThreadRecorder* enter_unsampled(const void* frame, std::size_t size) noexcept {
  ThreadRecorder* thread = current_thread;
  const bool is_usual = wiped_on_fork.mode.load(std::memory_order_relaxed) == Mode::active &&
                        thread != nullptr && thread->activity == Activity::program &&
                        process.control->is_recording.load(std::memory_order_relaxed) != 0;
  if (!is_usual || !count_down(thread->sampling, size)) return nullptr;
  thread->activity = Activity::real_call;
  thread->hook_frame = reinterpret_cast<std::uintptr_t>(frame);
  return thread;
}

// With sampling: whether to skip an allocation of `size` bytes.
[[gnu::always_inline]] inline bool is_sampled_out(ThreadRecorder& thread, std::size_t size) noexcept {
  if (process.sample_mean_bytes == 0) [[likely]] {
    return false;
  }
  return !take_sample(thread.sampling, size, process.sample_mean_bytes);
}

// With sampling, before the hook begins: whether the recorder can ignore this block's release, as it can for
// most.
[[gnu::always_inline]] inline bool is_nothing_to_release(const void* block) noexcept {
  return process.sample_mean_bytes != 0 && !may_be_sampled(block);
}

// With sampling: whether to skip this block's release.
[[gnu::always_inline]] inline bool is_release_sampled_out(const void* block) noexcept {
  if (process.sample_mean_bytes == 0) [[likely]] {
    return false;
  }
  if (block == nullptr || !forget_sample(block)) return true;
  end_sample(block);
  return false;
}

// A sampled block whose release cannot be recognized is counted instead of recorded: the estimates lack it.
[[gnu::always_inline]] inline bool is_unrecordable_sample(ThreadRecorder& thread, const void* block,
                                                          std::size_t size) noexcept {
  if (process.sample_mean_bytes == 0) [[likely]] {
    return false;
  }
  if (block == nullptr) return true;
  if (begin_sample(thread, block, size)) [[likely]] {
    return false;
  }
  thread.lane->dropped_full.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// A complete allocating entry point: `call` makes the real call.
template <typename RealCall, typename Usable = UsableOfProcess>
[[gnu::always_inline]] inline void* observe_allocation(ThreadRecorder& thread, const void* frame,
                                                       EventKind kind, std::size_t size,
                                                       std::size_t alignment, RealCall call,
                                                       Usable = {}) noexcept(noexcept(call())) {
  if (is_sampled_out(thread, size)) [[unlikely]] {
    void* block = call();
    leave(thread);
    return block;
  }
  const std::uint64_t begin_ticks = begin_if_timed();
  void* block = call();
  if (is_unrecordable_sample(thread, block, size)) [[unlikely]] {
    leave(thread);
    return block;
  }
  finish_allocation<Usable>(thread, frame, kind, begin_ticks, block, size, alignment);
  return block;
}

// With sampling, a realloc is a release of a sampled block, an allocation that may be sampled, or both; each
// half is recorded separately.
template <typename RealCall, typename Usable>
[[gnu::noinline]] void* reallocate_sampled(ThreadRecorder& thread, const void* frame, EventKind kind,
                                           void* old_block, std::size_t size, RealCall call,
                                           Usable) noexcept {
  const bool is_old_sampled = old_block != nullptr && forget_sample(old_block);
  const bool is_new_wanted = take_sample(thread.sampling, size, process.sample_mean_bytes);
  const std::uint64_t begin_ticks = now_ticks();
  void* block = call();
  const bool has_failed = block == nullptr && size != 0;
  if (has_failed && is_old_sampled) remember_sample(old_block);
  if (is_old_sampled && !has_failed) end_sample(old_block);
  const bool is_new_sampled = block != nullptr && is_new_wanted && begin_sample(thread, block, size);
  if (is_new_sampled) {
    finish_allocation<Usable>(thread, frame, kind, begin_ticks, block, size, 0,
                              is_old_sampled ? old_block : nullptr);
  } else if (is_old_sampled && !has_failed) {
    finish_release(thread, frame, EventKind::free_, begin_ticks, old_block);
  } else {
    leave(thread);
  }
  return block;
}

// A complete reallocating entry point.
template <typename RealCall, typename Usable = UsableOfProcess>
[[gnu::always_inline]] inline void* observe_realloc(ThreadRecorder& thread, const void* frame, EventKind kind,
                                                    void* old_block, std::size_t size, RealCall call,
                                                    Usable = {}) noexcept {
  if (process.sample_mean_bytes != 0) [[unlikely]] {
    return reallocate_sampled(thread, frame, kind, old_block, size, call, Usable{});
  }
  const std::uint64_t begin_ticks = now_ticks();
  void* block = call();
  finish_allocation<Usable>(thread, frame, kind, begin_ticks, block, size, 0, old_block);
  return block;
}

// A complete releasing entry point.
template <typename RealCall>
[[gnu::always_inline]] inline void observe_release(ThreadRecorder& thread, const void* frame, EventKind kind,
                                                   void* block, std::size_t size, std::size_t alignment,
                                                   RealCall call) noexcept {
  if (is_release_sampled_out(block)) [[unlikely]] {
    call();
    leave(thread);
    return;
  }
  const std::uint64_t begin_ticks = now_ticks();
  call();
  finish_release(thread, frame, kind, begin_ticks, block, size, alignment);
}

}  // namespace heapwright::record
