// SPDX-License-Identifier: MIT
// How an object with process lifetime ends; part of deferred_free.hpp.
#ifndef HEAPWRIGHT_DETAIL_EXIT_POLICY_HPP
#define HEAPWRIGHT_DETAIL_EXIT_POLICY_HPP

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <utility>

#include "heapwright/detail/check.hpp"

extern "C" {
[[gnu::weak]] void __lsan_do_leak_check();
[[gnu::weak]] void __tsan_init();
}

namespace heapwright::inline HEAPWRIGHT_ABI {

enum class exit_policy {
  destroy,  // run the destructor
  bury,     // do nothing; the object stays reachable for leak checkers
  quick,    // at exit() flush the standard streams and end the process at once
};

// True under AddressSanitizer, LeakSanitizer, ThreadSanitizer and valgrind: objects
// are then destroyed, so that only real leaks are reported.
inline bool is_heap_watched() noexcept {
  if (HEAPWRIGHT_ASAN || __lsan_do_leak_check != nullptr || __tsan_init != nullptr) return true;
  const char* preload = std::getenv("LD_PRELOAD");
  return preload != nullptr && std::strstr(preload, "vgpreload") != nullptr;
}

// Flushes C's streams and the standard C++ streams, then ends the process without
// destructors and exit handlers. Other C++ streams are not flushed: what a
// std::ofstream still buffers is lost.
[[noreturn]] inline void exit_without_freeing(int status) noexcept {
  for (auto* stream : {&std::cout, &std::cerr, &std::clog}) stream->flush();
  for (auto* stream : {&std::wcout, &std::wcerr, &std::wclog}) stream->flush();
  std::fflush(nullptr);
  _exit(status);
}

namespace detail {

struct buried_node {
  buried_node* next = nullptr;
  virtual ~buried_node() = default;
};
// Keeps buried objects reachable for leak checkers.
inline std::atomic<buried_node*> buried_objects{nullptr};

inline void bury(buried_node* node) noexcept {
  node->next = buried_objects.load(std::memory_order_relaxed);
  while (!buried_objects.compare_exchange_weak(node->next, node, std::memory_order_release,
                                               std::memory_order_relaxed)) {
  }
}

}  // namespace detail

// Holds a T that lives as long as the process; an exit policy decides how it ends.
// `quick` takes effect at exit() or the return of main: exit handlers and static
// destructors registered before this object do not run.
template <class T>
class lives_until_exit {
 public:
  template <class... Args>
  explicit lives_until_exit(exit_policy policy, Args&&... args)
      : held_(new holder(std::forward<Args>(args)...)),
        policy_(is_heap_watched() ? exit_policy::destroy : policy) {
    if (policy_ == exit_policy::quick) {
      on_exit([](int status, void*) { exit_without_freeing(status); }, nullptr);
    }
  }
  lives_until_exit(const lives_until_exit&) = delete;
  lives_until_exit& operator=(const lives_until_exit&) = delete;
  ~lives_until_exit() {
    if (policy_ == exit_policy::destroy) {
      delete held_;
    } else {
      detail::bury(held_);
    }
  }
  T& operator*() const noexcept { return held_->object; }
  T* operator->() const noexcept { return std::addressof(held_->object); }
  // The policy in effect: destroy if is_heap_watched().
  exit_policy policy() const noexcept { return policy_; }

 private:
  struct holder : detail::buried_node {
    template <class... Args>
    explicit holder(Args&&... args) : object(std::forward<Args>(args)...) {}
    T object;
  };
  holder* held_;
  exit_policy policy_;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
