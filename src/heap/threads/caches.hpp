// SPDX-License-Identifier: MIT
// A thread gets its cache at its first allocation; after its end a later thread takes the
// cache over. Caches are never unmapped, so pointers to them stay valid.
#pragma once

#include "heap/base/lock.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// For threads that have not allocated yet: has no blocks and owns nothing.
extern ThreadCache no_cache_yet;
// For threads whose exit handlers have run.
extern ThreadCache cache_given_up;

// With the next one 16 bytes of static TLS, all that the library uses.
extern __thread ThreadCache* current_cache __attribute__((tls_model("initial-exec")));

// The thread's cache in hardened mode, where the fast paths do not find it.
extern __thread ThreadCache* checked_cache __attribute__((tls_model("initial-exec")));

// The thread's cache, made if it has none. The process must be initialized. Null if its
// exit handlers have run, or when out of memory.
ThreadCache* cache_of_thread() noexcept;

// A zeroed cache without a thread. Null: no memory.
ThreadCache* make_cache() noexcept;

// One piece of work on caches whose threads ended at least `least_age` ticks ago. False:
// nothing was left to do.
bool tidy_idle_cache(std::uint16_t now, std::uint16_t least_age) noexcept;
bool has_untidy_caches() noexcept;

// Visits all caches, including those of ended threads.
void for_each_cache(void (*visit)(const ThreadCache&, void*), void* context) noexcept;

// Cycles through all caches, including those of ended threads; starts with null. Null: there is none.
ThreadCache* next_cache(const ThreadCache* before) noexcept;

Lock& caches_lock() noexcept;
// The lists lock of the calling thread's cache.
Lock& own_lists_lock() noexcept;
// In a forked child; visits each cache. Caches whose lists another thread was changing are
// abandoned; slabs of the others can be taken over (left_behind.hpp).
void forget_other_threads() noexcept;
// Whether the cache's thread is in a process that this one was forked from.
bool is_left_behind(const ThreadCache* cache) noexcept;
// Whether there may be such a cache. Written only in a forked child, while it has one thread.
extern bool has_left_behind;

}  // namespace heapwright::heap
