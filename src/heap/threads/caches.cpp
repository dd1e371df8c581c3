// SPDX-License-Identifier: MIT
#include "heap/threads/caches.hpp"

#include <pthread.h>

#include <cstddef>
#include <cstring>

#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/base/settings.hpp"
#include "heap/pages/growth.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/threads/borrowed_blocks.hpp"
#include "heap/threads/remote_free.hpp"
#include "heap/threads/slab_events.hpp"

namespace heapwright::heap {

constinit ThreadCache no_cache_yet{};
constinit ThreadCache cache_given_up{};
__thread ThreadCache* current_cache __attribute__((tls_model("initial-exec"))) = &no_cache_yet;
__thread ThreadCache* checked_cache __attribute__((tls_model("initial-exec"))) = &no_cache_yet;

static_assert(sizeof(ThreadCache) <= unit_bytes);
// Calls for up to 1 KiB use only two of the smallest pages.
static_assert(offsetof(ThreadCache, slots) + (class_of(1024) + 1) * sizeof(ClassSlot) <= 8192);

namespace {

struct Caches {
  Lock lock;
  std::atomic<ThreadCache*> registry;  // written under the lock
  ThreadCache* idle;
  const ThreadCache* looked_at;  // the last one examined by begin_tidying()
  pthread_key_t key;
  bool has_key;
  std::uint32_t forks;  // that led to this process and ran the handlers
};
constinit Caches caches{};

ThreadCache*& own_cache() noexcept { return settings.is_hardened ? checked_cache : current_cache; }

counters::LockCounters& lock_counters() noexcept { return counters_page->heap.pool_lock; }

ThreadCache* take_idle() noexcept {
  const LockGuard locked(caches.lock, lock_counters());
  ThreadCache** link = &caches.idle;
  while (*link != nullptr && (*link)->is_being_tidied) {
    count_steps();
    link = &(*link)->next_idle;
  }
  ThreadCache* cache = *link;
  if (cache == nullptr) return nullptr;
  *link = cache->next_idle;
  cache->is_idle = false;
  return cache;
}

void put_idle(ThreadCache* cache) noexcept {
  const LockGuard locked(caches.lock, lock_counters());
  cache->next_idle = caches.idle;
  cache->attached_at = 0;
  cache->is_idle = true;
  caches.idle = cache;
}

// Key destructors run in rounds, and those of other libraries may still allocate and
// free; the cache is released in the last round but one.
void on_thread_exit(void* value) {
  auto* cache = static_cast<ThreadCache*>(value);
  ThreadCache*& own = own_cache();
  if (own != cache) return;
  if (++cache->exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1) {
    pthread_setspecific(caches.key, cache);
    return;
  }
  own = &cache_given_up;
  free_delayed(cache);
  cache->idle_stamp = current_tick();
  cache->is_tidy = false;
  note_waiting_memory();
  put_idle(cache);
  counters::add(counters_page->heap.threads, static_cast<std::uint64_t>(-1));
}

void ask_for_exit_notice(ThreadCache* cache) noexcept {
  {
    const LockGuard locked(caches.lock, lock_counters());
    if (!caches.has_key) caches.has_key = pthread_key_create(&caches.key, on_thread_exit) == 0;
  }
  if (caches.has_key) pthread_setspecific(caches.key, cache);
}

}  // namespace

ThreadCache* make_cache() noexcept {
  const Run run = allocate_run(1);
  if (run.unit == 0) return nullptr;
  auto* cache = reinterpret_cast<ThreadCache*>(memory_of(run.unit));
  if (!run.is_zeroed) std::memset(static_cast<void*>(cache), 0, sizeof(ThreadCache));
  register_kept(&cache->kept);
  const LockGuard locked(caches.lock, lock_counters());
  cache->next_in_registry = caches.registry.load(std::memory_order_relaxed);
  caches.registry.store(cache, std::memory_order_release);
  return cache;
}

ThreadCache* cache_of_thread() noexcept {
  ThreadCache*& own = own_cache();
  if (own != &no_cache_yet) return own == &cache_given_up ? nullptr : own;
  ThreadCache* cache = take_idle();
  if (cache == nullptr) {
    if (counters_page->heap.threads.load(std::memory_order_relaxed) != 0) end_start();
    cache = make_cache();
  }
  if (cache == nullptr) return nullptr;
  cache->attached_at = 1 + caches.forks;
  cache->exit_rounds = 0;
  cache->count(counters::Reason::thread_attached);
  counters::add(counters_page->heap.threads, 1);
  own = cache;
  ask_for_exit_notice(cache);
  start_due_maintenance();
  return cache;
}

namespace {

bool is_untidy(const ThreadCache* cache) noexcept { return !cache->is_tidy || has_notices(cache); }

bool is_due(const ThreadCache* cache, std::uint16_t now, std::uint16_t least_age) noexcept {
  return cache->is_idle && static_cast<std::uint16_t>(now - cache->idle_stamp) >= least_age &&
         is_untidy(cache);
}

// Reserves an idle cache that needs tidying. The next search begins behind it, so that every cache has its
// turn, however many threads there were. Under the maintenance lock, which a fork takes, too: one at a time.
ThreadCache* begin_tidying(std::uint16_t now, std::uint16_t least_age) noexcept {
  constexpr int most_looked_at = 64;
  const LockGuard locked(caches.lock, lock_counters());
  for (int i = 0; i < most_looked_at; ++i) {
    count_steps();
    ThreadCache* cache = next_cache(caches.looked_at);
    if (cache == nullptr) return nullptr;
    caches.looked_at = cache;
    if (!is_due(cache, now, least_age)) continue;
    cache->is_being_tidied = true;
    return cache;
  }
  return nullptr;
}

void end_tidying(ThreadCache* cache) noexcept {
  const LockGuard locked(caches.lock, lock_counters());
  cache->is_being_tidied = false;
}

}  // namespace

bool tidy_idle_cache(std::uint16_t now, std::uint16_t least_age) noexcept {
  ThreadCache* cache = begin_tidying(now, least_age);
  if (cache == nullptr) return false;
  if (!return_borrowed(cache) && !collect_notices(cache, 4)) cache->is_tidy = !give_up_slab(cache);
  end_tidying(cache);
  return true;
}

bool has_untidy_caches() noexcept {
  const LockGuard locked(caches.lock, lock_counters());
  for (const ThreadCache* cache = caches.idle; cache != nullptr; cache = cache->next_idle) {
    if (is_untidy(cache)) return true;
  }
  return false;
}

ThreadCache* next_cache(const ThreadCache* before) noexcept {
  if (before != nullptr && before->next_in_registry != nullptr) return before->next_in_registry;
  return caches.registry.load(std::memory_order_acquire);
}

void for_each_cache(void (*visit)(const ThreadCache&, void*), void* context) noexcept {
  const ThreadCache* first = caches.registry.load(std::memory_order_acquire);
  for (const ThreadCache* cache = first; cache != nullptr; cache = cache->next_in_registry) {
    visit(*cache, context);
  }
}

Lock& caches_lock() noexcept { return caches.lock; }

Lock& own_lists_lock() noexcept { return own_cache()->lists; }

constinit bool has_left_behind = false;

bool is_left_behind(const ThreadCache* cache) noexcept {
  return cache->attached_at != 0 && cache->attached_at != 1 + caches.forks;
}

void forget_other_threads() noexcept {
  counters_page->heap.threads.store(1, std::memory_order_relaxed);
  ++caches.forks;
  ThreadCache* const own = own_cache();
  if (own != &no_cache_yet && own != &cache_given_up) own->attached_at = 1 + caches.forks;
  // A thread missing in the child may have held these lists: they are never unlocked.
  ThreadCache* cache = caches.registry.load(std::memory_order_relaxed);
  for (; cache != nullptr; cache = cache->next_in_registry) {
    has_left_behind = has_left_behind || is_left_behind(cache);
    if (cache->lists.is_open() || cache == own) continue;
    cache->has_returned.store(0, std::memory_order_relaxed);
    cache->is_looked_through = false;
  }
  for (ThreadCache** link = &caches.idle; *link != nullptr;) {
    if ((*link)->lists.is_open()) {
      link = &(*link)->next_idle;
    } else {
      (*link)->is_idle = false;
      *link = (*link)->next_idle;
    }
  }
}

}  // namespace heapwright::heap
