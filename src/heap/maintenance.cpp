// SPDX-License-Identifier: MIT
#include "heap/maintenance.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>

#include "heap/caches.hpp"
#include "heap/counting.hpp"
#include "heap/dropped_blocks.hpp"
#include "heap/heap_object.hpp"
#include "heap/lock.hpp"
#include "heap/page_source.hpp"
#include "heap/partial_pool.hpp"
#include "heap/publish.hpp"
#include "heap/settings.hpp"

namespace heapwright::heap {

namespace {

constexpr std::uint64_t tick_ns = 15'625'000;
constexpr std::uint64_t ticks_between_looks = 2;

enum State : std::uint32_t { absent, starting, present, lost };

struct Maintenance {
  Lock lock;
  std::atomic<std::uint32_t> state;
  std::uint32_t stack_unit;
  ThreadCache cache;  // owner of the slab that is looked at; only told, never allocated from
};
constinit Maintenance maintenance{};

// What remains of a slab goes back to the pool, an empty one to the page
// source. One that a notice is under way for stays until that has come.
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

bool purge_pooled_slab(std::uint16_t now, std::uint16_t least_age) noexcept {
  for (std::uint32_t look = 0; look <= class_count / classes_per_look; ++look) {
    UnitLine* slab = claim_unpurged(now, least_age, &maintenance.cache);
    if (slab == nullptr) continue;
    if (!unwatch(slab)) return true;
    if (!is_empty(slab)) drop_free_pages(slab);
    put_back(slab, true);
    return true;
  }
  return false;
}

bool do_piece(std::uint16_t now, std::uint16_t least_age) noexcept {
  return collect_own_notice() || purge_oldest_run(now, least_age) || purge_pooled_slab(now, least_age) ||
         tidy_idle_cache(now, least_age) || dismantle_heap();
}

void sleep_ns(std::uint64_t ns) noexcept {
  timespec time{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  platform::raw_syscall(SYS_nanosleep, platform::raw_argument(&time), 0);
}

void update_tick() noexcept { set_current_tick(static_cast<std::uint16_t>(monotonic_ns() / tick_ns)); }

// Free runs beyond what a program of this size needs between two of its peaks
// rest less, but go in small pieces, 16 MiB a second: faulting them in again
// must not be felt where they are wanted after all.
void give_back_surplus(std::uint16_t least_age) noexcept {
  constexpr std::uint16_t share_of_age = 16;
  constexpr std::uint32_t most_units = 8;
  const LockGuard locked(maintenance.lock, counters_page->page.heap_lock);
  if (!has_surplus()) return;
  const auto age = static_cast<std::uint16_t>((least_age + share_of_age - 1) / share_of_age);
  purge_oldest_run(current_tick(), age, most_units);
}

[[noreturn]] void run_thread() noexcept {
  platform::raw_syscall(SYS_prctl, PR_SET_NAME, platform::raw_argument("heapwright"));
  const auto least_age =
      static_cast<std::uint16_t>((settings.decay_ms * 1'000'000ULL + tick_ns - 1) / tick_ns);
  constexpr std::size_t slice = 64;
  constexpr std::uint32_t looks_between_publishings = 4;
  std::size_t done = slice;
  for (std::uint32_t look = 0;; ++look) {
    // With work left, a short pause lets others at the locks and the CPU. At
    // the start it lets the call go on that started the thread.
    sleep_ns(done == slice ? tick_ns / 16 : ticks_between_looks * tick_ns);
    update_tick();
    done = maintain(slice, least_age);
    give_back_surplus(least_age);
    if (look % looks_between_publishings == 0) publish_counters();
  }
}

// The new thread shares everything with this one, even the thread pointer,
// which it therefore must not use: no errno, no thread_local, no libc.
long clone_thread(void* stack_top) noexcept {
  constexpr long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  long result = SYS_clone;
  register long r10 asm("r10") = 0;
  register long r8 asm("r8") = 0;
  register void (*entry)() asm("r9") = [] { run_thread(); };
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "and $-16, %%rsp\n\t"
      "call *%%r9\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack_top), "d"(0L), "r"(r10), "r"(r8), "r"(entry)
      : "rcx", "r11", "memory");
  return result;
}

bool start_thread() noexcept {
  if (maintenance.stack_unit == 0) maintenance.stack_unit = allocate_run(1).unit;
  if (maintenance.stack_unit == 0) return false;
  std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  platform::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, platform::raw_argument(&all),
                        platform::raw_argument(&before), sizeof(all));
  const long thread = clone_thread(memory_of(maintenance.stack_unit) + unit_bytes);
  platform::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, platform::raw_argument(&before), 0, sizeof(before));
  return thread > 0;
}

}  // namespace

std::size_t maintain(std::size_t budget, std::uint16_t least_age) noexcept {
  const LockGuard locked(maintenance.lock, counters_page->page.heap_lock);
  std::size_t done = 0;
  while (done < budget && do_piece(current_tick(), least_age)) ++done;
  return done;
}

namespace {

void start_from(std::uint32_t state) noexcept {
  if (!settings.has_maintenance_thread) return;
  if (!maintenance.state.compare_exchange_strong(state, starting, std::memory_order_relaxed)) return;
  update_tick();
  // Refused: nobody asks again, and heapwright_heap_maintain() is still there.
  if (start_thread()) maintenance.state.store(present, std::memory_order_relaxed);
}

}  // namespace

void start_maintenance() noexcept {
  if (maintenance.state.load(std::memory_order_relaxed) == absent) start_from(absent);
}

[[gnu::hot]] void restart_maintenance() noexcept {
  if (maintenance.state.load(std::memory_order_relaxed) == lost) start_from(lost);
}

bool is_maintenance_thread() noexcept {
  const std::uint32_t unit = maintenance.stack_unit;
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  return unit != 0 && here >= memory_of(unit) && here < memory_of(unit) + unit_bytes;
}

void lock_maintenance() noexcept { maintenance.lock.lock(counters_page->page.heap_lock); }
void unlock_maintenance() noexcept { maintenance.lock.unlock(); }

void forget_maintenance_thread() noexcept {
  std::uint32_t before = present;
  maintenance.state.compare_exchange_strong(before, lost, std::memory_order_relaxed);
}

}  // namespace heapwright::heap
