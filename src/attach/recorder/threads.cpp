// SPDX-License-Identifier: MIT
#include "attach/recorder/threads.hpp"

#include <algorithm>
#include <cstring>

#include "attach/recorder/children.hpp"
#include "platform/clock.hpp"
#include "platform/raw_syscall.hpp"
#include "record/ring.hpp"
#include "unwind/loaded_objects.hpp"

// Of the process, for the stack walk: the agent's own pointers, filled in by the attaching program.
extern "C" {
void* __libc_stack_end;
}

namespace heapwright::attach::recorder {

using platform::raw_syscall;
using session::Lane;

constinit RecordingAgent heapwright_agent{};
constinit WipedOnFork heapwright_agent_threads{};
constinit FrameTable heapwright_agent_frames{};

namespace {

constexpr std::uint64_t being_taken = 0;

void count_without_lane() noexcept {
  heapwright_agent.block->dropped_without_lane.fetch_add(1, std::memory_order_relaxed);
}

// The collector frees a lane when its thread has ended.
bool take_free_lane(std::uint32_t index) noexcept {
  std::uint32_t& claims = heapwright_agent.claims[index];
  std::uint32_t seen = __atomic_load_n(&claims, __ATOMIC_ACQUIRE);
  const Lane& lane = heapwright_agent.block->lanes[index];
  return (seen & 1) == 0 && lane.state.load(std::memory_order_acquire) == session::lane_unused &&
         __atomic_compare_exchange_n(&claims, &seen, seen | 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

bool take_lane(std::uint32_t& index) noexcept {
  std::atomic<std::uint32_t>& count = heapwright_agent.block->lane_count;
  std::uint32_t next = std::min(count.load(std::memory_order_acquire), max_lanes);
  for (index = 0; index < next; ++index) {
    if (take_free_lane(index)) return true;
  }
  do {
    if (next >= max_lanes) return false;
  } while (!count.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel));
  index = next;
  return true;
}

// The entry's last thread has ended, or belonged to another recording.
void leave_lane(const Thread& thread, std::uint64_t identity) noexcept {
  if (thread.lane == nullptr || identity >> 32 != heapwright_agent.common.attachment) return;
  if (thread.lane->generation.load(std::memory_order_relaxed) != thread.generation) return;
  std::uint32_t expected = session::lane_live;
  thread.lane->state.compare_exchange_strong(expected, session::lane_exiting, std::memory_order_release);
}

// Of the calling thread, whose identity it is. libc keeps the id; a filter may forbid to ask the kernel.
std::uint32_t thread_id_in(std::uint64_t identity) noexcept {
  if (heapwright_agent.identity_offset != own_address_offset) return static_cast<std::uint32_t>(identity);
  return static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
}

// Begins the stack of an entry's thread anew: nothing is stored of it.
void begin_stack(Thread& thread) noexcept {
  const auto number = static_cast<std::size_t>(&thread - heapwright_agent_threads.threads);
  StackMemory& memory = heapwright_agent.stacks[number];
  std::memset(memory.bytes, 0, sizeof memory.bytes);
  const bool has_python = heapwright_agent.python_stacks != nullptr &&
                          (heapwright_agent.control->flags & session::skip_python) == 0;
  if (has_python) unwind::announce_interpreter();
  thread.stack = unwind::begin_thread(tables(), memory.bytes,
                                      has_python ? heapwright_agent.python_stacks[number].bytes : nullptr);
}

// The entry belongs to the caller, which has marked it with being_taken.
Thread* begin(Thread& thread, std::uint64_t identity) noexcept {
  __libc_stack_end = heapwright_agent.stack_end;
  begin_stack(thread);
  thread.lane = nullptr;
  thread.activity = Activity::program;
  thread.sampling = {};
  thread.sampling.random_state = platform::read_ticks(ticks_are_tsc()) ^ thread.key << 16;
  std::uint32_t index = 0;
  if (take_lane(index)) {
    Lane& lane = heapwright_agent.block->lanes[index];
    thread.lane = &lane;
    thread.head = 0;
    thread.ring_mask = session::ring_slots_of(index) - 1;
    thread.limit = (thread.ring_mask + 1) / 2;
    record::begin_lane(lane, thread_id_in(identity), platform::read_ticks(ticks_are_tsc()),
                       __builtin_frame_address(0));
    thread.generation = lane.generation.load(std::memory_order_relaxed);
    __atomic_add_fetch(&heapwright_agent.claims[index], 1, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&thread.identity, identity, __ATOMIC_RELEASE);
  if (thread.lane == nullptr) count_without_lane();
  return thread.lane == nullptr ? nullptr : &thread;
}

// An entry whose thread has ended, as seen by the collector: only then is a lane freed.
bool is_left(const Thread& thread, std::uint64_t identity) noexcept {
  if (thread.lane == nullptr || identity >> 32 != heapwright_agent.common.attachment) return false;
  return thread.lane->generation.load(std::memory_order_relaxed) != thread.generation ||
         thread.lane->state.load(std::memory_order_acquire) == session::lane_unused;
}

bool mark_as_taken(Thread& thread, std::uint64_t seen) noexcept {
  return seen != being_taken && __atomic_compare_exchange_n(&thread.identity, &seen, being_taken, false,
                                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// If all entries near its home are taken: one whose thread has ended. Both the thread that takes it and a new
// thread with the old one's key must mark it.
Thread* take_left_entry(std::uint64_t key) noexcept {
  std::size_t at = agent::home_of(key);
  for (std::size_t step = 0; step < agent::max_steps; ++step, at = agent::after(at)) {
    Thread& thread = heapwright_agent_threads.threads[at];
    const std::uint64_t seen = __atomic_load_n(&thread.identity, __ATOMIC_ACQUIRE);
    if (seen == being_taken || !is_left(thread, seen) || !mark_as_taken(thread, seen)) continue;
    __atomic_store_n(&thread.key, key, __ATOMIC_RELAXED);
    return &thread;
  }
  return nullptr;
}

Thread* begin_new(std::uint64_t key, std::uint64_t identity) noexcept {
  Thread* thread = agent::take_entry(heapwright_agent_threads.threads, key);
  if (thread != nullptr) __atomic_store_n(&thread->identity, being_taken, __ATOMIC_RELAXED);
  if (thread == nullptr) thread = take_left_entry(key);
  if (thread != nullptr) return begin(*thread, identity);
  count_without_lane();
  return nullptr;
}

// Whether `outer` lies in a frame that encloses `inner` or has replaced it, on the thread's own stack (and
// not on a signal stack that happens to be higher).
bool encloses(std::uint64_t key, std::uint64_t outer, std::uint64_t inner) noexcept {
  constexpr std::uint64_t most_bytes = 1ULL << 30;
  const bool is_own = outer < key || outer <= reinterpret_cast<std::uint64_t>(heapwright_agent.stack_end);
  return is_own && outer >= inner && outer - inner < most_bytes;
}

// The current hook was left by longjmp.
void recover(Thread& thread) noexcept {
  if (thread.activity == Activity::recorder) begin_stack(thread);
}

// A nested call by the allocator is part of the real call. One made by a signal handler belongs to the
// program and is missing from the trace.
void classify_nested(const Thread& thread, std::uint64_t frame) noexcept {
  const std::uint64_t caller = reinterpret_cast<const std::uint64_t*>(frame)[1];
  const RecordingAgent& agent = heapwright_agent;
  const bool is_second = thread.activity == Activity::second_call;
  if (is_second && caller - agent.second_code < agent.second_code_bytes) return;
  if (caller - agent.allocator_code < agent.allocator_code_bytes) return;
  if (caller - agent.agent_code < agent.agent_code_bytes) return;
  thread.lane->dropped_reentrant.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Thread* enter_slow(std::uint64_t key, std::uint64_t frame) noexcept {
  if (heapwright_agent_threads.is_active == 0 && !link_forked()) return nullptr;
  const std::uint64_t identity = identity_of_caller(key);
  Thread* const thread = agent::find_entry(heapwright_agent_threads.threads, key);
  if (thread == nullptr) return begin_new(key, identity);
  const std::uint64_t seen = __atomic_load_n(&thread->identity, __ATOMIC_ACQUIRE);
  if (seen != identity) {
    // A signal handler while its thread begins, or a thread whose entry is just being taken by another.
    if (!mark_as_taken(*thread, seen)) {
      count_without_lane();
      return nullptr;
    }
    leave_lane(*thread, seen);
    return begin(*thread, identity);
  }
  if (thread->lane == nullptr) {
    count_without_lane();
    return nullptr;
  }
  if (thread->activity == Activity::program) return thread;
  if (encloses(key, frame, thread->hook_frame)) {
    recover(*thread);
    return thread;
  }
  classify_nested(*thread, frame);
  return nullptr;
}

bool make_room(Thread& thread, std::uint64_t slots) noexcept {
  return record::make_room_in(thread, slots, collector());
}

}  // namespace heapwright::attach::recorder
