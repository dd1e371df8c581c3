// SPDX-License-Identifier: MIT
// Per-thread objects, destroyed when their thread ends.
//
// Registering the destructor of a thread_local object allocates, and the C library
// ends the program when that fails. A pthread key needs no allocation; all parts
// share one.
#ifndef HEAPWRIGHT_DETAIL_THREAD_OWNED_HPP
#define HEAPWRIGHT_DETAIL_THREAD_OWNED_HPP

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

// Calls a thread's listeners when it ends, newest first. For the thread that calls
// exit() this happens while static objects are destroyed; for other threads that are
// running then it does not.
class thread_end {
 public:
  struct listener {
    listener* next;
    void (*hear)() noexcept;
  };

  // Whether the calling thread's end will be reported. The C library allocates for
  // that only in programs with more than 32 keys.
  static bool is_heard() noexcept {
    static const bool is_made = make_key();
    return is_made && is_open_.load(std::memory_order_relaxed) &&
           (pthread_getspecific(key_) != nullptr || pthread_setspecific(key_, &first_) == 0);
  }
  // Requires is_heard(). The listener must be thread-local.
  static void add(listener& one) noexcept { one.next = std::exchange(first_, &one); }

 private:
  static bool make_key() noexcept {
    if (pthread_key_create(&key_, &tell_all) != 0) return false;
    is_open_.store(true, std::memory_order_relaxed);
    static_cast<void>(std::atexit(&end_program));
    return true;
  }
  // Includes listeners added during the calls.
  static void tell_all(void*) noexcept {
    while (first_ != nullptr) std::exchange(first_, first_->next)->hear();
  }
  static void end_program() noexcept {
    tell_all(nullptr);
    is_open_.store(false, std::memory_order_relaxed);
    pthread_key_delete(key_);
  }

  static inline constinit pthread_key_t key_{};
  static inline constinit std::atomic<bool> is_open_{false};
  static inline constinit thread_local listener* first_ = nullptr;
};

// The calling thread's T, constructed at its first use.
template <class T>
class thread_owned {
 public:
  // Null before the first use and after the thread's end.
  static T* current() noexcept { return current_; }

  // False when the thread is about to end, or its end cannot be registered for lack of memory.
  static bool can_be_made() noexcept { return !has_ended_ && thread_end::is_heard(); }
  // Null when can_be_made() is false.
  static T* get() noexcept(noexcept(T())) {
    if (current_ != nullptr) [[likely]] {
      return current_;
    }
    return make();
  }
  // As get(), with arguments for the first use.
  template <class... Args>
  [[gnu::noinline]] static T* make(Args&&... args) noexcept(noexcept(T(std::forward<Args>(args)...))) {
    if (!can_be_made()) return nullptr;
    current_ = ::new (static_cast<void*>(room_)) T(std::forward<Args>(args)...);
    thread_end::add(listener_);
    return current_;
  }
  // As get(), but constructed again after its end, possibly without being destroyed.
  static T& always() noexcept {
    static_assert(noexcept(T()));
    if (get() != nullptr) [[likely]] {
      return *current_;
    }
    current_ = ::new (static_cast<void*>(room_)) T();
    if (thread_end::is_heard()) thread_end::add(listener_);
    return *current_;
  }

 private:
  static void end() noexcept {
    has_ended_ = true;
    std::destroy_at(std::exchange(current_, nullptr));
  }

  alignas(T) static inline constinit thread_local std::byte room_[sizeof(T)]{};
  static inline constinit thread_local T* current_ = nullptr;
  static inline constinit thread_local bool has_ended_ = false;
  static inline constinit thread_local thread_end::listener listener_{nullptr, &end};
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
