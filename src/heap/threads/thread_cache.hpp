// SPDX-License-Identifier: MIT
// What a thread allocates from: a queue of its slabs that have blocks for each
// class, and which of them malloc takes a small block from. Only its thread
// touches it, except `notified` and `has_returned`. A private heap has one as
// well, under its lock.
//
// Which slabs are in a queue or ring, and the notices, change under `lists` only.
// So others may take a slab out (take_over.hpp) that is not the first of its queue:
// the first is what its thread uses without that lock.
//
//   current[step] = 0, or the list of the first slab of the queue of the class
//                   that serves it, or the detached list of that slab
//   current[0] = 0: a block of 0 bytes is never on the fast path
//   every slab of a queue but the first has blocks
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

// How far the list of the first slab of a queue was walked along (left_behind.hpp).
struct Recount {
  UnitLine* slab;  // null: none is
  Block* last;     // null: the walk has not begun
  Block* behind;   // of a second list, which follows the first
  std::uint32_t count;
};

struct ClassSlot {
  Relaxed<std::uint32_t> first;  // queue of slabs that have blocks, linked by UnitLine::next
  Relaxed<std::uint32_t> last;
  counters::Counter taken;     // blocks handed out
  counters::Counter returned;  // blocks that came back
  counters::Counter refills;
  std::uint32_t waiting;              // ring of the other slabs, the longest out of the queue first
  Relaxed<std::uint32_t> held_units;  // of all its slabs
  // `current` was set for steps from the first of these to the second only; 0: for none.
  std::uint16_t least_step;
  std::uint16_t most_step;
  // Which of the classes that this one serves asks most (a majority vote): this
  // class less so many, and its lead.
  std::uint8_t favourite;
  std::uint8_t votes;
  // Written before anything is read: a page that is read first costs two page faults.
  bool is_used;
  // 1 + number of the list that holds blocks of the first slab; 0: none.
  Relaxed<std::uint8_t> detached;
};

inline constexpr std::uint32_t candidate_count = 8;

// Where one thread makes blocks and another frees them, both would write the
// slab's line all the time. So what others freed is taken into a list here, and
// the line is left to them until that list is used up. The blocks count as
// handed out of the slab; countdown() is less than 2^32 by their number. A private
// heap, under its lock, has none.
struct DetachedLists {
  static constexpr std::uint32_t capacity = 24;
  BlockList lists[capacity];
  std::uint16_t size_classes[capacity];
  std::uint32_t in_use;  // a bit for each
};

// What its thread freed last of others' slabs, and has not pushed yet (remote_free.hpp).
struct DelayedFrees {
  static constexpr std::uint32_t capacity = 16;
  void* blocks[capacity];
  std::uint32_t next;  // the place of the one that has waited longest, modulo the capacity
};

// A private heap is used under a lock, and no lock is held while the
// system is asked. So an opening that finds no free run says what it lacks; the
// run is got without the lock and is here at the second attempt.
struct SpareRun {
  Run run;
  std::uint32_t units;
  std::uint32_t lacking_units;
};

// What every slow call uses comes first: each page that is touched for the
// first time is a page fault within a call.
struct ThreadCache {
  BlockList nothing;  // has no block
  counters::Counter reasons[counters::reason_count];
  counters::Counter first_touch_pages;
  Lock lists;
  Relaxed<std::uint32_t> pending;  // notices taken over and not yet looked at
  Relaxed<std::uint32_t> visits;   // times its thread came by for blocks
  std::uint32_t kept_bytes;
  std::uint32_t candidates[candidate_count];
  std::uint32_t next_candidate;
  std::uint32_t exit_rounds;  // runs of the thread's exit handler
  union {
    SpareRun spare;  // of a private heap
    UnitLot lot;     // of a thread's, for slabs of one unit
  };
  bool is_private;           // of a private heap: slabs never go to the pool
  std::uint16_t idle_stamp;  // maintenance tick of its thread's end
  bool is_tidy;              // idle, and given up all it could
  // A bit for each class that has slabs, for those classes whose slots were never written.
  Relaxed<std::uint64_t> with_slabs[(class_count + 63) / 64];
  DetachedLists detached;
  // First of the slabs that others tell about, linked by second_next: pushed
  // to by anyone, taken as a whole by the owner.
  alignas(64) std::atomic<std::uint32_t> notified;
  // Others have freed the last block of a full slab: 1 + the tick of the first that did, 0: of none.
  std::atomic<std::uint32_t> has_returned;
  Relaxed<std::uint32_t> passed;    // notices that others have looked at in vain
  Relaxed<bool> is_looked_through;  // others look at the notices; there may be more
  // Where slabs are looked for before one is opened: null, or a cache, and its visits when last seen.
  std::uint32_t watched_visits;
  ThreadCache* watched;
  ThreadCache* next_in_registry;  // all caches ever made
  ThreadCache* next_idle;         // of threads that ended
  bool is_idle;                   // in that list; under its lock, as what follows
  bool is_being_tidied;           // no thread gets it
  // Distances of lists from this cache, so that zeroed memory means `nothing`.
  alignas(64) std::uintptr_t current[step_count];
  ClassSlot slots[class_count];
  // 1 + number of forks up to when its thread got it (is_left_behind); 0: no thread has it.
  Relaxed<std::uint32_t> attached_at;
  DelayedFrees delayed;
  KeptRuns kept;
  std::uint32_t large_left;  // up to the next one that is sampled (sampled_large.hpp)
  Recount recount;
  Quarantine* quarantine;    // hardened mode: of blocks that the thread freed
  std::uint32_t next_empty;  // where a place for a block of 0 bytes is looked for; 0: not yet

  // How often it happened, with this time.
  std::uint64_t count(counters::Reason reason) noexcept {
    counters::Counter& counter = reasons[static_cast<std::uint32_t>(reason)];
    counters::add_owned(counter, 1);
    return counter.load(std::memory_order_relaxed);
  }
};

// Where malloc takes a block of this step from; `nothing` where it has to look further.
[[gnu::always_inline]] inline BlockList* current_list(const ThreadCache* cache, std::size_t step) noexcept {
  return reinterpret_cast<BlockList*>(reinterpret_cast<std::uintptr_t>(cache) + cache->current[step]);
}

inline bool has_notices(const ThreadCache* cache) noexcept {
  return cache->pending != 0 || cache->notified.load(std::memory_order_relaxed) != 0 || cache->passed != 0;
}

// The lists of a cache, for its own thread. A private heap's are under the heap's lock.
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
