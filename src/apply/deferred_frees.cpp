// SPDX-License-Identifier: MIT
#include "apply/deferred_frees.hpp"

#include <sys/auxv.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "apply/helper_thread.hpp"
#include "apply/remedies.hpp"
#include "counters/head.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/messages.hpp"
#include "heap/front/allocate.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/threads/heap_object.hpp"
#include "heapwright/heap.h"
#include "platform/futex.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::apply {

namespace {

struct Waiting {
  Waiting* next;
  std::uint64_t mark;  // tells that it waits
};

// Threads have one each, as long as they are few. Who finds it locked does not wait.
struct alignas(64) Lane {
  heap::Lock lock;
  Waiting* newest;
  std::size_t bytes;  // not yet in waiting_bytes
  counters::Counter deferred[most_remedies];
};
constexpr std::size_t lane_count = 16;
constexpr std::size_t bytes_between_sums = std::size_t{64} << 10;

constinit Lane lanes[lane_count]{};
constinit std::atomic<bool> is_deferring{false};
constinit std::atomic<std::size_t> waiting_bytes{0};
constinit std::atomic<std::uint32_t> has_work{0};  // futex word
// What the thread has taken and not yet released.
constinit std::atomic<Waiting*> taken{nullptr};
constinit std::uint64_t secret = 0;

std::uint64_t mark_of(const Waiting* block) noexcept {
  return secret ^ reinterpret_cast<std::uintptr_t>(block);
}

Lane& lane_of_thread() noexcept {
  const auto thread = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  return lanes[(thread >> 6 ^ thread >> 12 ^ thread >> 20) % lane_count];
}

void add_up(Lane& lane) noexcept {
  waiting_bytes.fetch_add(lane.bytes, std::memory_order_relaxed);
  lane.bytes = 0;
}

Waiting* take_locked(Lane& lane) noexcept {
  Waiting* const newest = lane.newest;
  lane.newest = nullptr;
  add_up(lane);
  lane.lock.unlock_unawaited();
  return newest;
}

void release(Waiting* block) noexcept {
  block->mark = 0;
  waiting_bytes.fetch_sub(heap::usable_bytes(block), std::memory_order_relaxed);
  // By its heap: without it, the heap would make a cache for this thread, which a fork may wait for.
  heapwright_heap_free(heap::heap_of(heap::head_line_of(block)), block);
}

bool release_all(Waiting* block) noexcept {
  const bool has_any = block != nullptr;
  while (block != nullptr) {
    Waiting* const next = block->next;
    release(block);
    block = next;
  }
  return has_any;
}

// Who holds the lane's lock may have seen work that is taken here: it is waited for.
void release_lane(Lane& lane) noexcept {
  while (!lane.lock.try_lock()) platform::raw_syscall(SYS_sched_yield);
  taken.store(take_locked(lane), std::memory_order_relaxed);
  // One by one, so that a child of a fork lacks one at most.
  while (Waiting* const block = taken.load(std::memory_order_relaxed)) {
    taken.store(block->next, std::memory_order_relaxed);
    release(block);
  }
}

void* release_later(void*) {
  constexpr std::uint64_t long_ns = 3'600'000'000'000;
  constexpr timespec wait{0, 10'000'000};
  for (;;) {
    while (has_work.load(std::memory_order_acquire) == 0) platform::futex_wait(has_work, 0, long_ns);
    nanosleep(&wait, nullptr);
    has_work.store(0, std::memory_order_seq_cst);
    for (Lane& lane : lanes) {
      release_lane(lane);
      heap::give_back_if_due();
    }
  }
}

void put(Lane& lane, std::uint32_t remedy, Waiting* block, std::size_t bytes) noexcept {
  block->mark = mark_of(block);
  block->next = lane.newest;
  lane.newest = block;
  lane.bytes += bytes;
  if (lane.bytes >= bytes_between_sums) add_up(lane);
  counters::add_owned(lane.deferred[remedy], 1);
}

}  // namespace

void start_deferring() noexcept {
  static constinit std::atomic<bool> is_tried{false};
  if (is_tried.exchange(true, std::memory_order_relaxed)) return;
  const auto* random = reinterpret_cast<const char*>(getauxval(AT_RANDOM));
  if (random != nullptr) std::memcpy(&secret, random, sizeof secret);
  secret |= 1;  // so that no mark is 0: addresses are even
  const int before = errno;
  if (start_helper_thread(release_later, nullptr)) is_deferring.store(true, std::memory_order_release);
  errno = before;
}

bool defer(std::uint32_t remedy, void* memory, std::size_t bytes) noexcept {
  if (!is_deferring.load(std::memory_order_acquire)) {
    if (waiting_bytes.load(std::memory_order_relaxed) != 0) release_waiting();
    return false;
  }
  auto* const block = static_cast<Waiting*>(memory);
  if (bytes < sizeof *block) return false;
  if (block->mark == mark_of(block)) heap::stop_for_double_free(memory, bytes);
  if (waiting_bytes.load(std::memory_order_relaxed) + bytes > most_waiting_bytes) return false;
  Lane& lane = lane_of_thread();
  if (!lane.lock.try_lock()) return false;
  put(lane, remedy, block, bytes);
  lane.lock.unlock_unawaited();
  if (has_work.load(std::memory_order_relaxed) == 0 && has_work.exchange(1) == 0) {
    platform::futex_wake(has_work);
  }
  return true;
}

std::uint64_t deferred_frees(std::uint32_t remedy) noexcept {
  std::uint64_t sum = 0;
  for (const Lane& lane : lanes) sum += lane.deferred[remedy].load(std::memory_order_relaxed);
  return sum;
}

bool release_waiting() noexcept {
  bool has_any = false;
  for (Lane& lane : lanes) has_any |= lane.lock.try_lock() && release_all(take_locked(lane));
  if (!is_deferring.load(std::memory_order_relaxed)) {
    has_any |= release_all(taken.exchange(nullptr, std::memory_order_relaxed));
  }
  return has_any;
}

void stop_deferring_in_child() noexcept {
  is_deferring.store(false, std::memory_order_relaxed);
  for (Lane& lane : lanes) {
    lane.lock.reset_in_child();
    add_up(lane);
  }
}

}  // namespace heapwright::apply
