// SPDX-License-Identifier: MIT
#include "heap/service/maintenance.hpp"

#include <algorithm>

#include "heap/base/clock.hpp"
#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/base/settings.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/slabs/mixed_slab.hpp"
#include "heap/slabs/page_purge.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/threads/caches.hpp"
#include "heap/threads/heap_object.hpp"
#include "heap/threads/take_over.hpp"

namespace heapwright::heap {

namespace {

// The size of one piece: the units returned at once (124 us for 2 MiB; 4 us for 64 KiB,
// acceptable in a call), and the searches for a pooled slab, classes_per_look each.
struct Effort {
  std::uint32_t units;
  std::uint32_t looks;
};
constexpr Effort of_thread{32, class_count / classes_per_look + 1};
constexpr Effort of_call{1, 2};
// The interval between pieces by calls while up to `bytes_at_this_pace` wait; n times the bytes, n times as
// often.
constexpr std::uint64_t ns_between_pieces = 4'000'000;
constexpr std::size_t bytes_at_this_pace = 256 * 1024 * 1024;
// Unused turns of this long accumulate: a program that works in bursts returns as much as a steady one,
// without more expensive calls.
constexpr std::uint64_t saved_ns = 1'000'000'000;

struct Maintenance {
  Lock lock;
  std::atomic<std::uint64_t> due_ns;    // when a call may do the next piece
  PagePurge purge;                      // of a slab of `cache`, between two of its pieces
  std::atomic<std::uint32_t> answered;  // give_back_for_growth() has handled growth up to this unit
  std::uint32_t answers;                // slabs for which it has done so
  ThreadCache cache;                    // owns the slab being processed; only gets notices, never allocates
};
constinit Maintenance maintenance{};

LockGuard guard_pieces() noexcept { return {maintenance.lock, counters_page->heap.heap_lock}; }

// Returns a slab to the pool, or if empty to the page source. A slab whose notice is
// under way stays until the notice arrives.
void put_back(UnitLine* slab, bool purged) noexcept {
  if (!unwatch(slab)) return;
  if (is_empty(slab)) return close_slab(slab);
  if (!(purged ? pool_purged(slab) : pool_slab(slab))) close_slab(slab);
}

bool collect_own_notice() noexcept {
  ThreadCache& own = maintenance.cache;
  if (own.pending == 0) own.pending = own.notified.exchange(0, std::memory_order_acquire);
  if (own.pending == 0) return false;
  UnitLine* slab = line_of(own.pending);
  own.pending = slab->second_next;
  clear_flag(slab, is_watched);
  put_back(slab, false);
  return true;
}

bool go_on_purging() noexcept {
  UnitLine* slab = maintenance.purge.slab();
  if (slab == nullptr) return false;
  const bool mixes = maintenance.purge.mixes();
  if (!maintenance.purge.step() && !mixes) put_back(slab, true);
  return true;
}

// Begins to purge or mix a slab that maintenance.cache has just got from the pool.
void begin_with(UnitLine* slab, bool mixes) noexcept {
  if (!unwatch(slab)) return;
  if (is_empty(slab) || !maintenance.purge.begin(slab, mixes)) return put_back(slab, true);
  go_on_purging();
}

bool purge_pooled_slab(std::uint16_t now, std::uint16_t least_age, std::uint32_t looks) noexcept {
  for (std::uint32_t look = 0; look < looks; ++look) {
    count_steps(classes_per_look);
    UnitLine* slab = claim_unpurged(now, least_age, &maintenance.cache);
    if (slab == nullptr) continue;
    begin_with(slab, false);
    return true;
  }
  return false;
}

bool use_pooled_slab(std::uint32_t looks) noexcept {
  for (std::uint32_t look = 0; look < looks; ++look) {
    count_steps(classes_per_look);
    UnitLine* slab = claim_usable(&maintenance.cache);
    if (slab == nullptr) continue;
    begin_with(slab, can_mix(slab) && !settings.is_hardened);
    return true;
  }
  return false;
}

// One piece, within the step limit of a call.
bool do_piece(std::uint16_t now, std::uint16_t least_age, Effort most) noexcept {
  return collect_own_notice() || go_on_purging() || purge_oldest_run(now, least_age, most.units) != 0 ||
         purge_pooled_slab(now, least_age, most.looks) || purge_mixed(now, least_age) ||
         take_over_asleep(now, least_age) || tidy_idle_cache(now, least_age) || dismantle_heap();
}

// Free runs beyond what a program of this size needs between two peaks are kept for a
// shorter time, but are returned slowly, 16 MiB a second: if they are needed after all,
// faulting them in must not be noticeable.
bool give_back_surplus(std::uint32_t units) noexcept {
  constexpr std::uint16_t share_of_age = 16;
  if (!has_surplus()) return false;
  const auto age = static_cast<std::uint16_t>((decay_ticks() + share_of_age - 1) / share_of_age);
  purge_oldest_run(current_tick(), age, units);
  return true;
}

// Sparse slabs serve no other size. While the heap grows and they are a twelfth of it, they become mixed, or
// if they cannot, lose their free pages, whatever their age; a program that does not grow may reuse them. The
// rate decides how much of what is needed next comes from them: 64 to 1.
bool give_back_for_growth() noexcept {
  constexpr std::size_t least_sparse_bytes = std::size_t{8} << 20;
  constexpr std::size_t sparse_share = 12;
  constexpr std::uint32_t answers_per_unit = 64;
  // First, because usually nothing has grown: the rest reads lines that every thread writes.
  const std::uint32_t reached = reached_units();
  if (maintenance.answered.load(std::memory_order_relaxed) >= reached) return false;
  const std::size_t sparse_bytes = usable_bytes_of_pool();
  if (sparse_bytes < least_sparse_bytes || sparse_bytes * sparse_share < committed_bytes() - dirty_bytes()) {
    maintenance.answered.store(reached, std::memory_order_relaxed);
    return false;
  }
  if (!maintenance.lock.try_lock()) return false;
  const bool is_between = go_on_purging();
  if (!is_between && use_pooled_slab(of_call.looks) && ++maintenance.answers % answers_per_unit == 0) {
    maintenance.answered.fetch_add(1, std::memory_order_relaxed);
  }
  maintenance.lock.unlock();
  return true;
}

// A thread that adds waiting memory afterwards sets the flag again.
void check_waiting() noexcept {
  waiting.is_there.store(0, std::memory_order_seq_cst);
  const bool waits = maintenance.purge.slab() != nullptr || maintenance.cache.pending != 0 ||
                     has_dirty_runs() || has_unpurged_slabs() || has_unpurged_mixed() ||
                     has_returned_slabs() || has_untidy_caches() || has_destroyed_heaps();
  if (waits) waiting.is_there.store(1, std::memory_order_relaxed);
}

}  // namespace

std::size_t maintain(std::size_t budget, std::uint16_t least_age) noexcept {
  std::size_t done = 0;
  for (; done < budget; ++done) {
    // Locked for one piece at a time, so that a fork waits no longer.
    maintenance.lock.lock(counters_page->heap.heap_lock);
    const bool is_done = do_piece(current_tick(), least_age, of_thread);
    maintenance.lock.unlock_for_others();
    if (!is_done) break;
  }
  return done;
}

std::uint16_t decay_ticks() noexcept {
  return static_cast<std::uint16_t>((settings.decay_ms * 1'000'000ULL + tick_ns - 1) / tick_ns);
}

// Whether a call may do a piece now; if so, takes the turn.
static bool take_turn() noexcept {
  // First, because usually no piece is due: the waiting bytes are in lines that every thread writes.
  const std::uint64_t now_ns = coarse_ns();
  std::uint64_t due_ns = maintenance.due_ns.load(std::memory_order_relaxed);
  if (due_ns > now_ns) return false;
  const std::size_t waiting_bytes = dirty_bytes() + unpurged_bytes();
  const std::uint64_t next_ns =
      std::max(due_ns, now_ns - saved_ns) + ns_between_pieces / (1 + waiting_bytes / bytes_at_this_pace);
  return maintenance.due_ns.compare_exchange_strong(due_ns, next_ns, std::memory_order_relaxed);
}

[[gnu::cold, gnu::noinline]] void give_back_piece() noexcept {
  if (!settings.gives_back_on_calls || !has_outgrown_start()) return;
  if (give_back_for_growth() || !take_turn()) return;
  if (is_maintenance_thread_there()) return;
  if (restart_idle_thread()) return;
  update_tick();
  if (!maintenance.lock.try_lock()) return;
  if (!do_piece(current_tick(), decay_ticks(), of_call) && !give_back_surplus(of_call.units)) check_waiting();
  maintenance.lock.unlock();
}

void make_room_for_dirty(std::size_t bytes) noexcept {
  const std::size_t most = most_kept_dirty_bytes();
  if (bytes > most || !maintenance.lock.try_lock()) return;
  // Bounds the units and pieces, because small frees may have left far more dirty memory, and the allowed
  // amount falls with the block. Half of the pieces would suffice if no run ended within one.
  constexpr std::uint32_t most_pieces = 256;
  auto left = static_cast<std::uint32_t>((kept_share + 1) * bytes / unit_bytes);
  const std::uint32_t units_of_piece = std::max(of_thread.units, left / (most_pieces / 2) + 1);
  for (std::uint32_t piece = 0; piece < most_pieces && left != 0 && dirty_bytes() + bytes > most; ++piece) {
    count_steps();
    const std::uint32_t given = purge_oldest_run(current_tick(), 0, std::min(left, units_of_piece));
    if (given == 0) break;
    left -= given;
    // So that a fork waits for one piece only.
    maintenance.lock.unlock_for_others();
    maintenance.lock.lock(counters_page->heap.heap_lock);
  }
  maintenance.lock.unlock();
}

MaintenanceResult run_due_maintenance(std::size_t most) noexcept {
  update_tick();
  const std::size_t pieces = maintain(most, decay_ticks());
  const LockGuard locked = guard_pieces();
  const bool has_surplus_now = give_back_surplus(8);
  if (pieces == 0) check_waiting();
  return {pieces, waiting.is_there.load(std::memory_order_relaxed) != 0, has_surplus_now};
}

MaintenancePause::MaintenancePause() noexcept {
  maintenance.lock.lock(counters_page->heap.heap_lock);
  while (go_on_purging()) {
  }
}
MaintenancePause::~MaintenancePause() { maintenance.lock.unlock(); }

Lock& maintenance_lock() noexcept { return maintenance.lock; }

}  // namespace heapwright::heap
