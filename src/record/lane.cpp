// SPDX-License-Identifier: MIT
#include "record/lane.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "platform/futex.hpp"
#include "platform/raw_syscall.hpp"
#include "record/real_functions.hpp"

// Absent from libc (and from programs without libpthread) before glibc 2.34.
extern "C" {
[[gnu::weak]] int pthread_key_create(pthread_key_t*, void (*)(void*)) noexcept;
[[gnu::weak]] int pthread_setspecific(pthread_key_t, const void*) noexcept;
[[gnu::weak]] extern void* __libc_stack_end;
}

namespace heapwright::record {

using platform::raw_syscall;
using session::Lane;

thread_local constinit ThreadRecorder* current_thread = nullptr;

namespace {

// Stands in for a thread that is claiming its lane: whatever libc allocates
// meanwhile is nested in it.
constinit ThreadRecorder claiming_thread{.lane = nullptr,
                                         .stack = nullptr,
                                         .head = 0,
                                         .limit = 0,
                                         .activity = Activity::recorder,
                                         .hook_frame = reinterpret_cast<void*>(-1),
                                         .bytes_to_sample = 0,
                                         .random_state = 0,
                                         .pending_size = 0,
                                         .pending_ticks = 0,
                                         .pending_kind = EventKind::none,
                                         .pending_alignment_log2 = 0,
                                         .stands_for = nullptr};

constexpr std::size_t thread_recorder_bytes = 128;
static_assert(sizeof(ThreadRecorder) <= thread_recorder_bytes);
// Lane::recorder_state: the thread's recorder, its stand-in, its stack.
constexpr std::size_t stand_in_offset = thread_recorder_bytes;
constexpr std::size_t stack_offset = 2 * thread_recorder_bytes;

constexpr std::uint64_t half_ring = session::lane_ring_slots / 2;
constexpr std::uint64_t wait_ns = 10'000'000;

Lane* lanes[session::max_lanes];
// Lanes whose thread has run its last destructor: free as soon as the
// collector has emptied them.
std::atomic<std::uint64_t> exited_lanes[session::max_lanes / 64];
pthread_key_t exit_key;
bool has_exit_key;

void at_thread_exit(void* lane_number) noexcept {
  const auto index = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(lane_number) - 1);
  if (index >= session::max_lanes || lanes[index] == nullptr) return;
  lanes[index]->state.store(session::lane_exiting, std::memory_order_release);
  exited_lanes[index / 64].fetch_or(1ULL << (index % 64), std::memory_order_release);
}

bool take_exited_lane(std::uint32_t& index) noexcept {
  for (std::uint32_t word = 0; word < session::max_lanes / 64; ++word) {
    std::uint64_t bits = exited_lanes[word].load(std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<std::uint32_t>(__builtin_ctzll(bits));
      const std::uint32_t candidate = word * 64 + bit;
      if (lanes[candidate]->state.load(std::memory_order_acquire) != session::lane_unused) continue;
      const std::uint64_t mask = 1ULL << bit;
      if ((exited_lanes[word].fetch_and(~mask, std::memory_order_acq_rel) & mask) == 0) continue;
      // Between the two looks another thread may have had the lane and left
      // it again. Only who cleared the bit may judge.
      if (lanes[candidate]->state.load(std::memory_order_acquire) != session::lane_unused) {
        exited_lanes[word].fetch_or(mask, std::memory_order_release);
        continue;
      }
      index = candidate;
      return true;
    }
  }
  return false;
}

bool take_new_lane(std::uint32_t& index) noexcept {
  std::atomic<std::uint32_t>& count = process.block->lane_count;
  std::uint32_t next = count.load(std::memory_order_relaxed);
  do {
    if (next >= session::max_lanes) return false;
  } while (!count.compare_exchange_weak(next, next + 1, std::memory_order_relaxed));
  lanes[next] = map_lane(next);
  index = next;
  return lanes[next] != nullptr;
}

ThreadRecorder* claim_lane() noexcept {
  std::uint32_t index = 0;
  if (!take_exited_lane(index) && !take_new_lane(index)) {
    process.block->dropped_without_lane.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  Lane& lane = *lanes[index];
  std::memset(lane.recorder_state, 0, sizeof lane.recorder_state);
  auto* thread = reinterpret_cast<ThreadRecorder*>(lane.recorder_state);
  thread->lane = &lane;
  thread->limit = half_ring;
  thread->random_state = platform::read_ticks(process.ticks_are_tsc) ^ (std::uint64_t{index} << 32);
  thread->stack = unwind::begin_thread(lane.recorder_state + stack_offset);
  lane.head.store(0, std::memory_order_relaxed);
  lane.tail.store(0, std::memory_order_relaxed);
  for (auto* counter : {&lane.dropped_reentrant, &lane.dropped_full, &lane.waits, &lane.waited_ticks,
                        &lane.self_allocation_ticks, &lane.self_allocation_samples, &lane.self_release_ticks,
                        &lane.self_release_samples}) {
    counter->store(0, std::memory_order_relaxed);
  }
  lane.thread_id = static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
  lane.first_ticks = platform::read_ticks(process.ticks_are_tsc);
  lane.generation.fetch_add(1, std::memory_order_relaxed);
  lane.state.store(session::lane_live, std::memory_order_release);
  if (has_exit_key) pthread_setspecific(exit_key, reinterpret_cast<void*>(std::uintptr_t{index} + 1));
  return thread;
}

// Whether `outer` lies in a frame that encloses `inner`, or has taken its
// place, on the thread's own stack (and not, say, on a signal stack that
// happens to lie higher). A call nested in `inner` lies strictly below it.
bool encloses(const void* outer, const void* inner) noexcept {
  if (outer < inner) return false;
  const void* thread_pointer = __builtin_thread_pointer();
  const bool is_thread_stack = inner < thread_pointer && outer < thread_pointer;
  const bool is_main_stack = &__libc_stack_end != nullptr && outer <= __libc_stack_end;
  const auto distance = reinterpret_cast<std::uintptr_t>(outer) - reinterpret_cast<std::uintptr_t>(inner);
  return (is_thread_stack || is_main_stack) && distance < (1ULL << 30);
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

// The operator new that was under way has failed; its frame may be gone
// already (nullptr), and its stack with it.
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
  if (frame != nullptr && process.stacks)
    call.stack_node = unwind::capture(process.tables, *thread.stack, frame);
  emit(thread, call);
}

// The hook that was under way is gone, by longjmp.
void recover(ThreadRecorder& thread) noexcept {
  if (thread.activity == Activity::recorder) {
    std::memset(thread.stack, 0, unwind::thread_stack_bytes());
    thread.stack = unwind::begin_thread(thread.stack);
  }
  thread.activity = Activity::recorder;
  emit_failure(thread, nullptr);
  thread.activity = Activity::program;
}

bool wait_for_room(ThreadRecorder& thread, std::uint64_t slots) noexcept {
  Lane& lane = *thread.lane;
  const std::uint64_t since = platform::read_ticks(process.ticks_are_tsc);
  bool has_room = false;
  for (;;) {
    lane.is_waiting.store(1, std::memory_order_seq_cst);
    const std::uint32_t seen = lane.space_futex.load(std::memory_order_acquire);
    has_room = thread.head - lane.tail.load(std::memory_order_seq_cst) + slots <= session::lane_ring_slots;
    if (has_room || !is_collector_alive()) break;
    if (process.control->collector_sleeps.exchange(0) != 0) {
      platform::futex_wake(process.control->collector_sleeps);
    }
    platform::futex_wait(lane.space_futex, seen, wait_ns);
  }
  lane.is_waiting.store(0, std::memory_order_relaxed);
  lane.waits.fetch_add(1, std::memory_order_relaxed);
  lane.waited_ticks.fetch_add(platform::read_ticks(process.ticks_are_tsc) - since, std::memory_order_relaxed);
  return has_room;
}

const void* caller_of(const void* frame) noexcept { return static_cast<void* const*>(frame)[1]; }

// A nested call is part of the real call when the allocator made it. Made by
// a signal handler it is the program's own and missing from the trace.
void count_nested(ThreadRecorder& thread, const void* frame) noexcept {
  if (thread.activity == Activity::real_call && is_call_of_allocator(caller_of(frame))) return;
  std::atomic<std::uint64_t>& counter =
      thread.lane == nullptr ? process.block->dropped_without_lane : thread.lane->dropped_reentrant;
  counter.fetch_add(1, std::memory_order_relaxed);
}

// The first call of a new handler (or of a signal handler) inside operator
// new is recorded like any other: the recorder is between two events.
ThreadRecorder* begin_stand_in(ThreadRecorder& thread) noexcept {
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

// A hook begins while `stand_in` is the thread's: its caller is the new
// handler, the operator new that goes on, or code that both are gone from.
ThreadRecorder* enter_beside(ThreadRecorder& stand_in, const void* frame) noexcept {
  ThreadRecorder& thread = *stand_in.stands_for;
  if (encloses(frame, stand_in.hook_frame)) {
    if (thread.activity != Activity::program) recover(thread);
    resume_operator(thread);
    recover(thread);
    return &thread;
  }
  if (thread.activity != Activity::program) {
    if (!encloses(frame, thread.hook_frame)) {
      count_nested(thread, frame);
      return nullptr;
    }
    recover(thread);
  }
  if (is_call_of_operator(caller_of(frame))) {
    // The handler has returned and the operator tries again: what it does
    // from here on is its own.
    stand_in.pending_ticks = process.durations ? platform::read_ticks(process.ticks_are_tsc) : 0;
    return nullptr;
  }
  stand_in.pending_ticks = 0;
  return &thread;
}

}  // namespace

void begin_lanes(bool in_fork_child) noexcept {
  if (in_fork_child) {
    std::memset(lanes, 0, sizeof lanes);
    for (auto& word : exited_lanes) word.store(0, std::memory_order_relaxed);
    current_thread = nullptr;
  }
  if (!has_exit_key && pthread_key_create != nullptr && pthread_setspecific != nullptr) {
    has_exit_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
  }
}

ThreadRecorder* enter_slow(const void* frame) noexcept {
  if (wiped_on_fork.mode.load(std::memory_order_relaxed) != Mode::active && !link_process()) return nullptr;
  ThreadRecorder* thread = current_thread;
  if (thread == nullptr) {
    const int saved_errno = errno;
    current_thread = &claiming_thread;
    thread = claim_lane();
    current_thread = thread;
    errno = saved_errno;
    return thread;
  }
  if (thread->activity == Activity::program) return thread;
  if (thread->activity == Activity::stand_in) return enter_beside(*thread, frame);
  if (encloses(frame, thread->hook_frame)) {
    recover(*thread);
    return thread;
  }
  const bool is_in_operator =
      thread->activity == Activity::real_call && thread->pending_kind != EventKind::none;
  if (is_in_operator) return is_call_of_operator(caller_of(frame)) ? nullptr : begin_stand_in(*thread);
  count_nested(*thread, frame);
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
    // Not the handler's own operator new: the one that called the handler.
    if (thread->activity == Activity::program) resume_operator(*thread);
  }
  if (thread->activity != Activity::real_call || thread->pending_kind == EventKind::none) return;
  thread->activity = Activity::recorder;
  emit_failure(*thread, thread->hook_frame);
  std::atomic_signal_fence(std::memory_order_release);
  thread->activity = Activity::program;
}

bool make_room(ThreadRecorder& thread, std::uint64_t slots) noexcept {
  Lane& lane = *thread.lane;
  std::uint64_t used = thread.head - lane.tail.load(std::memory_order_acquire);
  if (used >= half_ring && process.control->collector_sleeps.load(std::memory_order_relaxed) != 0 &&
      process.control->collector_sleeps.exchange(0) != 0) {
    platform::futex_wake(process.control->collector_sleeps);
  }
  if (used + slots > session::lane_ring_slots && !wait_for_room(thread, slots)) {
    lane.dropped_full.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const std::uint64_t tail = lane.tail.load(std::memory_order_acquire);
  used = thread.head - tail;
  thread.limit = tail + (used + slots <= half_ring ? half_ring : session::lane_ring_slots);
  return true;
}

void emit_extended(ThreadRecorder& thread, Call call) noexcept {
  if (thread.head + 2 > thread.limit && !make_room(thread, 2)) return;
  Lane& lane = *thread.lane;
  const session::RawExtension extension{.old_address = call.old_address,
                                        .address_and_kind = session::extension_kind,
                                        .size = call.size,
                                        .usable = call.usable};
  std::memcpy(&lane.ring[thread.head % session::lane_ring_slots], &extension, sizeof extension);
  session::RawEvent& slot = lane.ring[(thread.head + 1) % session::lane_ring_slots];
  slot.begin_ticks = call.begin_ticks;
  slot.address_and_kind = pack_address(call);
  slot.size = 0;
  slot.usable_excess = 0;
  slot.stack_node = call.stack_node;
  slot.duration_ticks = static_cast<std::uint32_t>(std::min<std::uint64_t>(call.duration_ticks, 0xffffffffU));
  // Both slots become visible together.
  thread.head += 2;
  lane.head.store(thread.head, std::memory_order_release);
}

}  // namespace heapwright::record
