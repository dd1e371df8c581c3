// SPDX-License-Identifier: MIT
// An entry point that may call the program's new handler and be left by an exception (see operator_new.cpp).
#pragma once

#include "record/observe.hpp"

namespace heapwright::record {

[[gnu::always_inline]] inline void begin_operator(ThreadRecorder& thread, EventKind kind, std::size_t size,
                                                  std::size_t alignment) noexcept {
  thread.pending_size = size;
  thread.pending_ticks = begin_if_timed();
  thread.pending_alignment_log2 =
      alignment == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(std::bit_width(alignment) - 1);
  // A signal handler that sees the kind must also see the rest.
  std::atomic_signal_fence(std::memory_order_release);
  thread.pending_kind = kind;
}

// Returns the operator's begin time, 0 if not measured.
[[gnu::always_inline]] inline std::uint64_t end_operator(ThreadRecorder& thread) noexcept {
  thread.pending_kind = EventKind::none;
  std::atomic_signal_fence(std::memory_order_acq_rel);
  if (thread.activity != Activity::real_call) [[unlikely]] {
    return resume_operator(thread);
  }
  return thread.pending_ticks;
}

// `call` may throw, so nothing here may need cleanup. If nothing is recorded, the hook ends in a jump, so
// that none of our frames is in the way.
template <typename RealCall, typename Usable = UsableOfProcess>
[[gnu::always_inline]] inline void* observe_operator(const void* frame, EventKind kind, std::size_t size,
                                                     std::size_t alignment, RealCall call, Usable = {},
                                                     const void* old_block = nullptr) {
  asm volatile(".cfi_personality 0x1b, heapwright_operator_personality");  // pc-relative, 4 bytes
  ThreadRecorder* thread = enter(frame);
  if (thread == nullptr) [[unlikely]] {
    return call();
  }
  begin_operator(*thread, kind, size, alignment);
  if (is_sampled_out(*thread, size)) [[unlikely]] {
    void* block = call();
    end_operator(*thread);
    leave(*thread);
    return block;
  }
  void* block = call();
  const std::uint64_t begin_ticks = end_operator(*thread);
  if (is_unrecordable_sample(*thread, block, size)) [[unlikely]] {
    leave(*thread);
    return block;
  }
  finish_allocation<Usable>(*thread, frame, kind, begin_ticks, block, size, alignment, old_block);
  return block;
}

}  // namespace heapwright::record
