// SPDX-License-Identifier: MIT
#include "record/enter.hpp"

#include <sys/auxv.h>

#include <atomic>
#include <cstring>

#include "record/link.hpp"
#include "record/real_functions.hpp"

extern "C" {
[[gnu::weak]] extern void* __libc_stack_end;  // glibc only
}

namespace heapwright::record {
namespace {

// Whether `outer` lies in a frame that encloses `inner` or has replaced it, on the thread's own stack (and
// not on a signal stack that happens to be higher). A call nested in `inner` lies strictly below it.
bool encloses(const void* outer, std::uintptr_t inner) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(outer);
  if (begin < inner) return false;
  const bool is_thread_stack = begin < reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  const bool is_main_stack = &__libc_stack_end != nullptr && outer <= __libc_stack_end;
  return (is_thread_stack || is_main_stack) && begin - inner < (1ULL << 30);
}

ThreadRecorder& stand_in_of(ThreadRecorder& thread) noexcept {
  return *reinterpret_cast<ThreadRecorder*>(thread.lane->recorder_state + stand_in_offset);
}

void move_pending(ThreadRecorder& to, ThreadRecorder& from) noexcept {
  to.hook_frame = from.hook_frame;
  to.pending_size = from.pending_size;
  to.pending_ticks = from.pending_ticks;
  to.pending_alignment_log2 = from.pending_alignment_log2;
  to.pending_kind = from.pending_kind;
  from.pending_kind = EventKind::none;
}

// The current operator new has failed; its frame may already be gone (nullptr), and its stack with it.
void emit_failure(ThreadRecorder& thread, const void* frame) noexcept {
  const EventKind kind = thread.pending_kind;
  thread.pending_kind = EventKind::none;
  if (kind == EventKind::none || process.sample_mean_bytes != 0) return;
  const std::uint64_t now = platform::read_ticks(process.ticks_are_tsc);
  const bool has_begin = thread.pending_ticks != 0 && frame != nullptr;
  Call call{.kind = kind,
            .alignment_log2 = thread.pending_alignment_log2,
            .begin_ticks = thread.pending_ticks != 0 ? thread.pending_ticks : now,
            .size = thread.pending_size};
  call.duration_ticks = has_begin ? now - call.begin_ticks : 0;
  if (frame != nullptr && process.stacks) {
    call.stack_node = unwind::capture(process.tables, *thread.stack, frame);
  }
  emit(thread, call);
}

// The current hook was left by longjmp.
[[gnu::cold, gnu::noinline]] void recover(ThreadRecorder& thread) noexcept {
  if (thread.activity == Activity::recorder) {
    std::memset(thread.stack, 0, unwind::thread_stack_bytes());
    thread.stack =
        unwind::begin_thread(process.tables, thread.stack, thread.lane->recorder_state + python_offset);
  }
  thread.activity = Activity::recorder;
  emit_failure(thread, nullptr);
  thread.activity = Activity::program;
}

const void* caller_of(const void* frame) noexcept { return static_cast<void* const*>(frame)[1]; }

// A nested call by the allocator is part of the real call. One made by a signal handler belongs to the
// program and is missing from the trace.
[[gnu::cold, gnu::noinline]] void count_dropped(ThreadRecorder& thread) noexcept {
  std::atomic<std::uint64_t>& counter =
      thread.lane == nullptr ? process.block->dropped_without_lane : thread.lane->dropped_reentrant;
  counter.fetch_add(1, std::memory_order_relaxed);
}

void classify_nested(ThreadRecorder& thread, const void* frame) noexcept {
  const void* caller = caller_of(frame);
  if (&thread == &calling_libc) {
    if (!is_call_of_libc(caller)) count_dropped(thread);
    return;
  }
  // The recorder itself asks the allocator for the usable size.
  const bool is_own =
      thread.activity == Activity::real_call ? is_call_of_allocator(caller) : is_call_of_heap(caller);
  if (!is_own) count_dropped(thread);
}

// The first call of a new handler (or of a signal handler) inside operator new is recorded like any other:
// the recorder is between two events.
[[gnu::cold, gnu::noinline]] ThreadRecorder* begin_stand_in(ThreadRecorder& thread) noexcept {
  thread.activity = Activity::recorder;
  ThreadRecorder& stand_in = stand_in_of(thread);
  stand_in.lane = thread.lane;
  stand_in.stands_for = &thread;
  stand_in.activity = Activity::stand_in;
  move_pending(stand_in, thread);
  stand_in.pending_ticks = 0;
  current_thread = &stand_in;
  std::atomic_signal_fence(std::memory_order_release);
  thread.activity = Activity::program;
  return &thread;
}

// A hook begins while `stand_in` is the thread's recorder: the caller is the new handler, the resumed
// operator new, or code that runs after both were left.
[[gnu::cold, gnu::noinline]] ThreadRecorder* enter_beside(ThreadRecorder& stand_in,
                                                          const void* frame) noexcept {
  ThreadRecorder& thread = *stand_in.stands_for;
  if (encloses(frame, stand_in.hook_frame)) {
    if (thread.activity != Activity::program) recover(thread);
    resume_operator(thread);
    recover(thread);
    return &thread;
  }
  if (thread.activity != Activity::program) {
    if (!encloses(frame, thread.hook_frame)) {
      classify_nested(thread, frame);
      return nullptr;
    }
    recover(thread);
  }
  if (is_call_of_operator(caller_of(frame))) {
    // The handler has returned and the operator retries: from here on, its calls are its own.
    stand_in.pending_ticks = process.durations ? platform::read_ticks(process.ticks_are_tsc) : 0;
    return nullptr;
  }
  stand_in.pending_ticks = 0;
  return &thread;
}

// Links the process if necessary, and gives the calling thread a lane.
[[gnu::cold, gnu::noinline]] ThreadRecorder* enter_first() noexcept {
  if (wiped_on_fork.mode.load(std::memory_order_relaxed) != Mode::active && !link_process()) return nullptr;
  if (current_thread != nullptr) {
    return current_thread->activity == Activity::program ? current_thread : nullptr;
  }
  return claim_lane();
}

// Of a signal handler that libc installed: where it returns to.
#if defined(__aarch64__)
bool is_signal_return(std::uintptr_t word) noexcept {
  constexpr std::uint32_t code[] = {0xd2801168, 0xd4000001};  // mov x8, #139; svc #0
  constexpr std::uintptr_t least_bytes = 4096;                // of the kernel's object
  const std::uintptr_t kernel_code = getauxval(AT_SYSINFO_EHDR);
  if (kernel_code == 0 || word - kernel_code > least_bytes - sizeof code) return false;
  return std::memcmp(reinterpret_cast<const void*>(word), code, sizeof code) == 0;
}
#else
bool is_signal_return(std::uintptr_t word) noexcept {  // mov $15, %rax; syscall
  constexpr unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  const auto* begin = reinterpret_cast<const unsigned char*>(word);
  return is_call_of_libc(begin) && is_call_of_libc(begin + sizeof code) &&
         std::memcmp(begin, code, sizeof code) == 0;
}
#endif

}  // namespace

bool is_part_of_real_call(const ThreadRecorder& thread, const void* frame) noexcept {
  constexpr std::uintptr_t most_bytes = 1U << 16U;
  constexpr std::uintptr_t most_stack_bytes = 1U << 26U;  // mappings begin 128 MiB below
  const bool is_within = wiped_on_fork.mode.load(std::memory_order_relaxed) == Mode::active &&
                         thread.activity == Activity::real_call && thread.pending_kind == EventKind::none;
  const auto begin = reinterpret_cast<std::uintptr_t>(frame);
  if (!is_within || &__libc_stack_end == nullptr || begin >= thread.hook_frame ||
      thread.hook_frame - begin > most_bytes ||
      thread.hook_frame > reinterpret_cast<std::uintptr_t>(__libc_stack_end)) {
    return false;
  }
  // On the initial thread's stack, which is in one piece.
  if (reinterpret_cast<std::uintptr_t>(__libc_stack_end) - thread.hook_frame > most_stack_bytes) return false;
  for (const auto* word = static_cast<const std::uintptr_t*>(frame);
       reinterpret_cast<std::uintptr_t>(word) < thread.hook_frame; ++word) {
    if (is_signal_return(*word)) return false;
  }
  return true;
}

ThreadRecorder* enter_slow(const void* frame) noexcept {
  ThreadRecorder* thread = current_thread;
  if (wiped_on_fork.mode.load(std::memory_order_relaxed) != Mode::active || thread == nullptr) {
    return enter_first();
  }
  if (thread->activity == Activity::stand_in) return enter_beside(*thread, frame);
  if (encloses(frame, thread->hook_frame)) {
    recover(*thread);
    return thread;
  }
  const bool is_in_operator =
      thread->activity == Activity::real_call && thread->pending_kind != EventKind::none;
  if (is_in_operator) return is_call_of_operator(caller_of(frame)) ? nullptr : begin_stand_in(*thread);
  classify_nested(*thread, frame);
  return nullptr;
}

std::uint64_t resume_operator(ThreadRecorder& thread) noexcept {
  ThreadRecorder& stand_in = stand_in_of(thread);
  thread.activity = Activity::recorder;
  move_pending(thread, stand_in);
  current_thread = &thread;
  std::atomic_signal_fence(std::memory_order_release);
  thread.activity = Activity::real_call;
  return thread.pending_ticks;
}

void leave_operator_by_exception() noexcept {
  ThreadRecorder* thread = current_thread;
  if (thread == nullptr || wiped_on_fork.mode.load(std::memory_order_relaxed) != Mode::active) return;
  if (thread->activity == Activity::stand_in) {
    thread = thread->stands_for;
    // Not an operator new of the handler itself, but the one that called the handler.
    if (thread->activity == Activity::program) resume_operator(*thread);
  }
  if (thread->activity != Activity::real_call || thread->pending_kind == EventKind::none) return;
  thread->activity = Activity::recorder;
  emit_failure(*thread, reinterpret_cast<const void*>(thread->hook_frame));
  std::atomic_signal_fence(std::memory_order_release);
  thread->activity = Activity::program;
}

ThreadRecorder* begin_calls_of_libc() noexcept {
  ThreadRecorder* const thread = current_thread;
  current_thread = &calling_libc;
  return thread;
}

void end_calls_of_libc(ThreadRecorder* thread) noexcept {
  if (current_thread == &calling_libc) current_thread = thread;
}

void* find_operator_aside(const char* mangled_name) noexcept {
  // The program's own call, whose end belongs in the trace like its begin.
  forget_failed_lookups();
  ThreadRecorder* const thread = begin_calls_of_libc();
  void* found = find_operator(mangled_name);
  end_calls_of_libc(thread);
  return found;
}

}  // namespace heapwright::record
