// SPDX-License-Identifier: MIT
// Which cache a thread has: given at its first allocation, taken over by a
// later thread when it ends. Caches are never unmapped, so a pointer to one
// stays good whatever its thread does.
#pragma once

#include "heap/base/lock.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// A thread that has not allocated yet: nothing is ready, nothing is owned.
extern ThreadCache no_cache_yet;
// A thread whose exit handlers have run.
extern ThreadCache cache_given_up;

// With the next one 16 bytes of static TLS, all that the library takes.
extern __thread ThreadCache* current_cache __attribute__((tls_model("initial-exec")));

// In hardened mode the thread's cache is here, where the fast paths do not find it.
extern __thread ThreadCache* checked_cache __attribute__((tls_model("initial-exec")));

// The thread's cache; where it has none it gets one, in a process that is
// initialized. For threads whose exit handlers have run and when there is no memory: null.
ThreadCache* cache_of_thread() noexcept;

// A zeroed cache that no thread has. Null: no memory.
ThreadCache* make_cache() noexcept;

// One piece of work on caches whose threads ended `least_age` ticks ago or
// more. False: nothing was left to do.
bool tidy_idle_cache(std::uint16_t now, std::uint16_t least_age) noexcept;
bool has_untidy_caches() noexcept;

// Sums over all caches, of threads that live or not.
void for_each_cache(void (*visit)(const ThreadCache&, void*), void* context) noexcept;

// All caches in turn, of threads that live or not; null at first. Null: there is none.
ThreadCache* next_cache(const ThreadCache* before) noexcept;

Lock& caches_lock() noexcept;
// Of the calling thread's cache.
Lock& own_lists_lock() noexcept;
// In the child of a fork. Caches that others were changing the lists of are left alone for good;
// of the others, slabs are taken over (left_behind.hpp). A look at each cache.
void forget_other_threads() noexcept;
// The cache's thread is in a process that this one was forked from.
bool is_left_behind(const ThreadCache* cache) noexcept;
// There may be such a cache. Written in a fork's child only, while it has one thread.
extern bool has_left_behind;

}  // namespace heapwright::heap
