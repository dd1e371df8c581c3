// SPDX-License-Identifier: MIT
#include "record/lane.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "platform/futex.hpp"
#include "platform/raw_syscall.hpp"

// Absent from libc (and from programs without libpthread) before glibc 2.34.
extern "C" {
[[gnu::weak]] int pthread_key_create(pthread_key_t*, void (*)(void*)) noexcept;
[[gnu::weak]] int pthread_setspecific(pthread_key_t, const void*) noexcept;
}

namespace heapwright::record {

using platform::raw_syscall;
using session::Lane;

thread_local constinit ThreadRecorder* current_thread = nullptr;

constinit ThreadRecorder calling_libc{.lane = nullptr,
                                      .stack = nullptr,
                                      .head = 0,
                                      .limit = 0,
                                      .ring_mask = 0,
                                      .activity = Activity::recorder,
                                      .hook_frame = UINTPTR_MAX,
                                      .bytes_to_sample = 0,
                                      .random_state = 0,
                                      .pending_size = 0,
                                      .pending_ticks = 0,
                                      .pending_kind = EventKind::none,
                                      .pending_alignment_log2 = 0,
                                      .stands_for = nullptr};

namespace {

// The collector wakes who waits; that it is gone is seen when it does not. Not
// often: thousands of threads may wait at once.
constexpr std::uint64_t first_wait_ns = 10'000'000;
constexpr std::uint64_t longest_wait_ns = 640'000'000;

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

[[gnu::cold, gnu::noinline]] ThreadRecorder* take_lane() noexcept {
  std::uint32_t index = 0;
  if (!take_exited_lane(index) && !take_new_lane(index)) {
    process.block->dropped_without_lane.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  Lane& lane = *lanes[index];
  std::memset(lane.recorder_state, 0, sizeof lane.recorder_state);
  auto* thread = reinterpret_cast<ThreadRecorder*>(lane.recorder_state);
  thread->lane = &lane;
  thread->ring_mask = session::ring_slots_of(index) - 1;
  thread->limit = (thread->ring_mask + 1) / 2;
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
  lane.stack_address = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  lane.generation.fetch_add(1, std::memory_order_relaxed);
  lane.state.store(session::lane_live, std::memory_order_release);
  if (has_exit_key) pthread_setspecific(exit_key, reinterpret_cast<void*>(std::uintptr_t{index} + 1));
  return thread;
}

bool wait_for_room(ThreadRecorder& thread, std::uint64_t slots) noexcept {
  Lane& lane = *thread.lane;
  const std::uint64_t since = platform::read_ticks(process.ticks_are_tsc);
  bool has_room = false;
  std::uint64_t waited_ns = 0;
  for (std::uint64_t wait_ns = first_wait_ns;; wait_ns = std::min(2 * wait_ns, longest_wait_ns)) {
    lane.is_waiting.store(1, std::memory_order_seq_cst);
    const std::uint32_t seen = lane.space_futex.load(std::memory_order_acquire);
    has_room = thread.head - lane.tail.load(std::memory_order_seq_cst) + slots <= thread.ring_mask + 1;
    if (has_room || !is_collector_alive(waited_ns)) break;
    if (process.control->collector_sleeps.exchange(0) != 0) {
      platform::futex_wake(process.control->collector_sleeps);
    }
    platform::futex_wait(lane.space_futex, seen, wait_ns);
    waited_ns += wait_ns;
  }
  lane.is_waiting.store(0, std::memory_order_relaxed);
  lane.waits.fetch_add(1, std::memory_order_relaxed);
  lane.waited_ticks.fetch_add(platform::read_ticks(process.ticks_are_tsc) - since, std::memory_order_relaxed);
  return has_room;
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

ThreadRecorder* claim_lane() noexcept {
  const int saved_errno = errno;
  current_thread = &calling_libc;
  ThreadRecorder* thread = take_lane();
  current_thread = thread;
  errno = saved_errno;
  return thread;
}

bool make_room(ThreadRecorder& thread, std::uint64_t slots) noexcept {
  Lane& lane = *thread.lane;
  const std::uint64_t ring = thread.ring_mask + 1;
  std::uint64_t used = thread.head - lane.tail.load(std::memory_order_acquire);
  if (used >= ring / 2 && process.control->collector_sleeps.load(std::memory_order_relaxed) != 0 &&
      process.control->collector_sleeps.exchange(0) != 0) {
    platform::futex_wake(process.control->collector_sleeps);
  }
  if (used + slots > ring && !wait_for_room(thread, slots)) {
    lane.dropped_full.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const std::uint64_t tail = lane.tail.load(std::memory_order_acquire);
  used = thread.head - tail;
  thread.limit = tail + (used + slots <= ring / 2 ? ring / 2 : ring);
  return true;
}

void emit_extended(ThreadRecorder& thread, Call call) noexcept {
  if (thread.head + 2 > thread.limit && !make_room(thread, 2)) return;
  Lane& lane = *thread.lane;
  const session::RawExtension extension{.old_address = call.old_address,
                                        .address_and_kind = session::extension_kind,
                                        .size = call.size,
                                        .usable = call.usable};
  std::memcpy(&lane.ring[thread.head & thread.ring_mask], &extension, sizeof extension);
  session::RawEvent& slot = lane.ring[(thread.head + 1) & thread.ring_mask];
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
