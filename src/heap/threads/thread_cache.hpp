// SPDX-License-Identifier: MIT
// A thread's cache: for each class a queue of its slabs with free blocks, and the current
// list for each small size. Only its thread touches it, except `notified` and
// `has_returned`. A private heap has one as well, under its lock.
//
// Queues, rings and notices change only under `lists`. So others may take out a slab
// (take_over.hpp) that is not the first of its queue; its thread uses the first without
// that lock.
//
//   current[step] = 0, or the list of the first slab of the queue of the class
//                   that serves it, or the detached list of that slab, or the
//                   class's list of borrowed blocks
//   current[0] = 0: a block of 0 bytes is never on the fast path
//   every slab of a queue except the first has blocks
#pragma once

#include <atomic>
#include <cstdint>

#include "counters/heap_section.hpp"
#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/pages/kept_runs.hpp"
#include "heap/pages/run.hpp"
#include "heap/slabs/slab_line.hpp"

namespace heapwright::heap {

struct Quarantine;

// How far the list of the first slab of a queue has been walked (left_behind.hpp).
struct Recount {
  UnitLine* slab;  // null: no walk is under way
  Block* last;     // null: the walk has not begun
  Block* behind;   // second list, which follows the first
  std::uint32_t count;
};

struct ClassSlot {
  Relaxed<std::uint32_t> first;  // queue of slabs with blocks, linked by UnitLine::next
  Relaxed<std::uint32_t> last;
  counters::Counter taken;     // allocated blocks
  counters::Counter returned;  // freed blocks
  counters::Counter refills;
  std::uint32_t waiting;              // ring of the other slabs, longest out of the queue first
  Relaxed<std::uint32_t> held_units;  // of all its slabs
  // `current` is set only for steps from the first of these to the second; 0: none.
  std::uint16_t least_step;
  std::uint16_t most_step;
  // The most requested of the classes that this one serves, by majority vote: its distance
  // below this class, and its lead.
  std::uint8_t favourite;
  std::uint8_t votes;
  // Written before other members are read: a page that is read first costs two page faults.
  bool is_used;
  // 1 + index of the detached list of the first slab, or of one with another thread's blocks, then with
  // `borrowed_list`; 0: none.
  Relaxed<std::uint8_t> detached;
};

inline constexpr std::uint8_t borrowed_list = 128;

inline bool has_borrowed(const ClassSlot& slot) noexcept { return (slot.detached & borrowed_list) != 0; }
// There is one.
inline std::uint32_t list_number(const ClassSlot& slot) noexcept {
  return (slot.detached & ~borrowed_list) - 1U;
}

inline constexpr std::uint32_t candidate_count = 8;

// With a producer and a consumer thread, both would constantly write the slab's line. So
// remote frees are moved into a list here, and the owner does not touch the line until that
// list is used up. The blocks count as allocated from the slab; countdown() is less than
// 2^32 by their number. A private heap, which has a lock, has no such lists.
struct DetachedLists {
  static constexpr std::uint32_t capacity = 24;
  BlockList lists[capacity];
  std::uint16_t size_classes[capacity];
  std::uint32_t in_use;  // one bit per list
};

// The thread's latest cross-thread frees that are not yet pushed (remote_free.hpp).
struct DelayedFrees {
  static constexpr std::uint32_t capacity = 16;
  void* blocks[capacity];
  std::uint32_t next;  // index of the oldest, modulo the capacity
};

// A private heap is used under a lock, and no lock is held across system calls. So if
// opening a slab finds no free run, it records the missing length here; the run is allocated
// without the lock and is here at the second attempt.
struct SpareRun {
  Run run;
  std::uint32_t units;
  std::uint32_t lacking_units;
};

// Members used by every slow call come first: each page touched for the first time is a
// page fault within a call.
struct ThreadCache {
  BlockList nothing;  // has no block
  counters::Counter reasons[counters::reason_count];
  counters::Counter first_touch_pages;
  Lock lists;
  Relaxed<std::uint32_t> pending;  // notices taken and not yet handled
  Relaxed<std::uint32_t> visits;   // number of refills by its thread
  std::uint32_t kept_bytes;
  std::uint32_t candidates[candidate_count];
  std::uint32_t next_candidate;
  std::uint32_t exit_rounds;  // runs of the thread's exit handler
  union {
    SpareRun spare;  // in a private heap
    UnitLot lot;     // in a thread's cache, for slabs of one unit
  };
  bool is_private;           // of a private heap: slabs never go to the pool
  std::uint16_t idle_stamp;  // tick of its thread's end
  bool is_tidy;              // idle, and has given up all it can
  // One bit per class with slabs or borrowed blocks, so that slots never written need not be read.
  Relaxed<std::uint64_t> with_slabs[(class_count + 63) / 64];
  DetachedLists detached;
  // First of the slabs with notices from others, linked by second_next: any thread pushes,
  // the owner takes the whole list.
  alignas(64) std::atomic<std::uint32_t> notified;
  // Others have freed the last block of a full slab: 1 + the tick of the first report; 0: none.
  std::atomic<std::uint32_t> has_returned;
  Relaxed<std::uint32_t> passed;    // notices of slabs that others found not yet free
  Relaxed<bool> is_looked_through;  // others are handling the notices; there may be more
  // Offsets of lists from this cache, so that zero means `nothing`.
  alignas(64) std::uintptr_t current[step_count];
  ClassSlot slots[class_count];
  // 1 + the fork count when its thread got it (is_left_behind); 0: no thread has it. Others read its line
  // whenever they look for a lender, so nothing in it is often written.
  alignas(64) Relaxed<std::uint32_t> attached_at;
  // Visits when others that wanted to borrow last saw a change, and when that was.
  Relaxed<std::uint32_t> seen_visits;
  Relaxed<std::uint64_t> seen_ns;
  ThreadCache* next_in_registry;  // all caches ever made
  ThreadCache* next_idle;         // of threads that ended
  bool is_idle;                   // in that list; under its lock, as is the next
  bool is_being_tidied;           // reserved: no thread gets it
  alignas(64) DelayedFrees delayed;
  KeptRuns kept;
  std::uint32_t large_left;  // large blocks up to the next sampled one (sampled_large.hpp)
  Recount recount;
  ThreadCache* lender;  // the one to borrow blocks from next; null: none yet
  // The cache to search before a slab is opened, or null, and its visits when last seen.
  ThreadCache* watched;
  std::uint32_t watched_visits;
  std::uint32_t lent[DetachedLists::capacity];  // borrowed blocks: the unit of the other thread's slab
  Quarantine* quarantine;                       // hardened mode: blocks that the thread freed
  std::uint32_t next_empty;  // the next place to try for a block of 0 bytes; 0: not yet set

  // Increments the counter of a reason and returns its new value.
  std::uint64_t count(counters::Reason reason) noexcept {
    counters::Counter& counter = reasons[static_cast<std::uint32_t>(reason)];
    counters::add_owned(counter, 1);
    return counter.load(std::memory_order_relaxed);
  }
};

// The list from which malloc takes blocks of this step; `nothing` if it must search further.
[[gnu::always_inline]] inline BlockList* current_list(const ThreadCache* cache, std::size_t step) noexcept {
  return reinterpret_cast<BlockList*>(reinterpret_cast<std::uintptr_t>(cache) + cache->current[step]);
}

inline bool has_notices(const ThreadCache* cache) noexcept {
  return cache->pending != 0 || cache->notified.load(std::memory_order_relaxed) != 0 || cache->passed != 0;
}

// Locks a cache's `lists`, for its own thread. A private heap's are under the heap's lock.
class OwnLists {
 public:
  explicit OwnLists(ThreadCache* cache) noexcept : cache_(cache->is_private ? nullptr : cache) {
    if (cache_ != nullptr) cache_->lists.lock(counters_page->heap.pool_lock);
  }
  ~OwnLists() {
    if (cache_ != nullptr) cache_->lists.unlock_unawaited();
  }
  OwnLists(const OwnLists&) = delete;
  OwnLists& operator=(const OwnLists&) = delete;

 private:
  ThreadCache* cache_;
};

inline bool has_slabs(const ThreadCache* cache, std::uint32_t size_class) noexcept {
  return (cache->with_slabs[size_class / 64] >> size_class % 64 & 1) != 0;
}

}  // namespace heapwright::heap
