// SPDX-License-Identifier: MIT
#include "record/lane.hpp"

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "platform/raw_syscall.hpp"

// Missing in libc (and in programs without libpthread) before glibc 2.34.
extern "C" {
[[gnu::weak]] int pthread_key_create(pthread_key_t*, void (*)(void*)) noexcept;
[[gnu::weak]] int pthread_setspecific(pthread_key_t, const void*) noexcept;
[[gnu::weak]] int pthread_getcpuclockid(pthread_t, clockid_t*) noexcept;
}

namespace heapwright::record {

using platform::raw_syscall;
using session::Lane;

thread_local constinit ThreadRecorder* current_thread = nullptr;
thread_local constinit const char* current_context = nullptr;

constinit ThreadRecorder calling_libc{.lane = nullptr,
                                      .stack = nullptr,
                                      .head = 0,
                                      .limit = 0,
                                      .ring_mask = 0,
                                      .activity = Activity::recorder,
                                      .hook_frame = UINTPTR_MAX,
                                      .sampling = {},
                                      .pending_size = 0,
                                      .pending_ticks = 0,
                                      .pending_kind = EventKind::none,
                                      .pending_alignment_log2 = 0,
                                      .lacks_context = false,
                                      .stands_for = nullptr};

namespace {

std::atomic<Lane*> lanes[session::max_lanes];  // nullptr: not mapped
// Lanes whose thread has run its last destructor: free once the collector has emptied them.
std::atomic<std::uint64_t> exited_lanes[session::max_lanes / 64];
pthread_key_t exit_key;
bool has_exit_key;

Lane* lane_at(std::uint32_t index) noexcept { return lanes[index].load(std::memory_order_acquire); }

void at_thread_exit(void* lane_number) noexcept {
  const auto index = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(lane_number) - 1);
  if (index >= session::max_lanes || lane_at(index) == nullptr) return;
  lane_at(index)->state.store(session::lane_exiting, std::memory_order_release);
  exited_lanes[index / 64].fetch_or(1ULL << (index % 64), std::memory_order_release);
}

bool take_exited_lane(std::uint32_t& index) noexcept {
  for (std::uint32_t word = 0; word < session::max_lanes / 64; ++word) {
    std::uint64_t bits = exited_lanes[word].load(std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<std::uint32_t>(__builtin_ctzll(bits));
      const std::uint32_t candidate = word * 64 + bit;
      if (lane_at(candidate)->state.load(std::memory_order_acquire) != session::lane_unused) continue;
      const std::uint64_t mask = 1ULL << bit;
      if ((exited_lanes[word].fetch_and(~mask, std::memory_order_acq_rel) & mask) == 0) continue;
      // Between the two reads another thread may have claimed and left the lane. Only the thread that clears
      // the bit may decide.
      if (lane_at(candidate)->state.load(std::memory_order_acquire) != session::lane_unused) {
        exited_lanes[word].fetch_or(mask, std::memory_order_release);
        continue;
      }
      index = candidate;
      return true;
    }
  }
  return false;
}

// Whether lane `index` is mapped, now or before. Threads that map one at once waste a mapping.
bool is_mapped(std::uint32_t index) noexcept {
  if (lane_at(index) != nullptr) return true;
  std::uint32_t near = index;
  while (lane_at(near) == nullptr) --near;  // the first always is
  Lane* const lane = map_lane(index, lane_at(near), near);
  if (lane != nullptr) lanes[index].store(lane, std::memory_order_release);
  return lane_at(index) != nullptr;  // by whichever thread
}

bool take_new_lane(std::uint32_t& index) noexcept {
  std::atomic<std::uint32_t>& count = process.block->lane_count;
  std::uint32_t next = count.load(std::memory_order_relaxed);
  do {
    if (next >= session::max_lanes || !is_mapped(next)) return false;
  } while (!count.compare_exchange_weak(next, next + 1, std::memory_order_relaxed));
  index = next;
  return true;
}

// The calling thread's id; 0: unknown.
std::uint32_t own_thread_id() noexcept {
  if (!is_confined()) return static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
  // The number of a thread's clock contains its id, which libc keeps.
  clockid_t clock{};
  if (pthread_getcpuclockid == nullptr || pthread_getcpuclockid(pthread_self(), &clock) != 0) return 0;
  return ~static_cast<std::uint32_t>(clock) >> 3U & 0x1fffffffU;
}

[[gnu::cold, gnu::noinline]] ThreadRecorder* take_lane() noexcept {
  std::uint32_t index = 0;
  if (!take_exited_lane(index) && !take_new_lane(index)) {
    process.block->dropped_without_lane.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  Lane& lane = *lane_at(index);
  std::memset(lane.recorder_state, 0, python_offset);
  auto* thread = reinterpret_cast<ThreadRecorder*>(lane.recorder_state);
  thread->lane = &lane;
  thread->ring_mask = session::ring_slots_of(index) - 1;
  thread->limit = (thread->ring_mask + 1) / 2;
  thread->sampling.random_state = platform::read_ticks(process.ticks_are_tsc) ^ (std::uint64_t{index} << 32);
  thread->stack = unwind::begin_thread(process.tables, lane.recorder_state + stack_offset,
                                       lane.recorder_state + python_offset);
  begin_lane(lane, own_thread_id(), platform::read_ticks(process.ticks_are_tsc), __builtin_frame_address(0));
  if (has_exit_key) pthread_setspecific(exit_key, reinterpret_cast<void*>(std::uintptr_t{index} + 1));
  return thread;
}

constexpr std::uint64_t most_context_slots = session::longest_context_bytes / session::context_slot_bytes;

std::size_t length_of_context() noexcept {
  std::size_t length = 0;
  if (current_context == nullptr) return length;
  while (length < session::longest_context_bytes && current_context[length] != 0) ++length;
  return length;
}

// There is room for most_context_slots. All become visible together.
void write_context(ThreadRecorder& thread) noexcept {
  const std::size_t length = length_of_context();
  std::size_t at = 0;
  do {
    const std::size_t here =
        length - at < session::context_slot_bytes ? length - at : session::context_slot_bytes;
    std::uint64_t text[session::context_slot_bytes / sizeof(std::uint64_t)] = {};
    if (here != 0) std::memcpy(text, current_context + at, here);
    at += here;
    const session::RawContext slot{
        .text_begin = text[0],
        .length_and_kind = here << 16 | std::uint64_t{at == length} << 8 | session::context_kind,
        .text_rest = {text[1], text[2]}};
    std::memcpy(&thread.lane->ring[thread.head & thread.ring_mask], &slot, sizeof slot);
    ++thread.head;
  } while (at != length);
  thread.lane->head.store(thread.head, std::memory_order_release);
}

}  // namespace

void begin_lanes(bool in_fork_child, Lane* first) noexcept {
  if (in_fork_child) {
    for (auto& lane : lanes) lane.store(nullptr, std::memory_order_relaxed);
    for (auto& word : exited_lanes) word.store(0, std::memory_order_relaxed);
    current_thread = nullptr;
  }
  lanes[0].store(first, std::memory_order_release);
  if (!has_exit_key && pthread_key_create != nullptr && pthread_setspecific != nullptr) {
    has_exit_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
  }
}

ThreadRecorder* claim_lane() noexcept {
  const int saved_errno = errno;
  current_thread = &calling_libc;
  if (!may_read_clock()) {
    process.block->dropped_without_lane.fetch_add(1, std::memory_order_relaxed);
    errno = saved_errno;
    return nullptr;
  }
  ThreadRecorder* thread = take_lane();
  // A fork child's thread goes on in its parent's context. Before a signal handler can find the recorder.
  if (thread != nullptr && current_context != nullptr) emit_context(*thread);
  current_thread = thread;
  errno = saved_errno;
  return thread;
}

void map_spare_lanes() noexcept {
  constexpr std::uint32_t spare_lanes = 64;
  const std::uint32_t used = process.block->lane_count.load(std::memory_order_relaxed);
  for (std::uint32_t index = used; index < used + spare_lanes && index < session::max_lanes; ++index) {
    if (!is_mapped(index)) return;
  }
}

bool make_room(ThreadRecorder& thread, std::uint64_t slots) noexcept {
  const std::uint64_t wanted = slots + (thread.lacks_context ? most_context_slots : 0);
  if (!make_room_in(thread, wanted, Reader{*process.control, process.ticks_are_tsc})) return false;
  if (thread.lacks_context) {
    thread.lacks_context = false;
    write_context(thread);
  }
  return true;
}

void emit_context(ThreadRecorder& thread) noexcept {
  thread.lacks_context = false;  // by now perhaps of an earlier context
  const bool has_room =
      thread.head + most_context_slots <= thread.limit || make_room(thread, most_context_slots);
  if (has_room) {
    write_context(thread);
  } else {
    thread.lacks_context = true;
  }
}

void emit_extended(ThreadRecorder& thread, const Call& call) noexcept {
  if (thread.head + 2 > thread.limit && !make_room(thread, 2)) return;
  write_two_slots(thread, call);
}

}  // namespace heapwright::record
