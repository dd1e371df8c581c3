// SPDX-License-Identifier: MIT
// Moves the cost of freeing large things out of the moment that must be fast.
// Documentation: docs/parts/deferred_free.md
//
// A ring of fixed size, filled by its owner thread. It is drained by the owner
// when idle, by the owner when full (counted), or by a thread of its own.
//
//   entries_:  head_ ... pending ... tail_     (positions grow for ever)
//              ^ drained under drain_mutex_    ^ written by the owner only
#ifndef HEAPWRIGHT_DEFERRED_FREE_HPP
#define HEAPWRIGHT_DEFERRED_FREE_HPP

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/exit_policy.hpp"

namespace heapwright {

// How many heap blocks freeing an object returns, about. Specialize it for own
// types; containers answer with their size, everything else counts as dear.
template <class T>
struct free_cost {
  static std::size_t of(const T& object) noexcept {
    if constexpr (requires { object.size(); }) {
      return static_cast<std::size_t>(object.size());
    } else {
      return ~std::size_t{0};
    }
  }
};

struct deferred_options {
  std::size_t entries = 4096;   // the bound of the backlog, rounded up to a power of two
  std::size_t cheap_cost = 64;  // up to this cost objects are freed at once
  bool has_background_thread = false;
  void (*after_drain)() = nullptr;  // an allocator's flush, called when a drain freed something
};

struct deferred_statistics {
  std::size_t pending;
  std::uint64_t deferred;
  std::uint64_t freed_at_once;      // cheap, or within a drain
  std::uint64_t drained_by_caller;  // because the ring was full
  std::uint64_t freed;              // of those deferred
};

class deferred_free {
 public:
  using destroy_function = void (*)(void* object);

  explicit deferred_free(const deferred_options& options = {})
      : options_(options),
        mask_(std::bit_ceil(options.entries) - 1),
        entries_(new entry[mask_ + 1]),
        owner_(std::this_thread::get_id()) {
    HEAPWRIGHT_CHECK(options.entries != 0, "deferred_free", "the number of entries must not be zero");
    enlist();
    if (options.has_background_thread) start_background();
  }
  deferred_free(const deferred_free&) = delete;
  deferred_free& operator=(const deferred_free&) = delete;
  // Frees what is pending.
  ~deferred_free() {
    stop_background();
    delist();
    barrier();
  }

  // Destroys the object later, on the owner thread or the background thread.
  // Called by the owner only, holding no lock that the destructor takes. Does
  // not allocate.
  void defer(void* object, destroy_function destroy, std::size_t cost = ~std::size_t{0}) {
    HEAPWRIGHT_CHECK(std::this_thread::get_id() == owner_, "deferred_free",
                     "defer() is called by the thread that made the queue");
    if (cost <= options_.cheap_cost || is_inside_drain()) {
      ++freed_at_once_;
      return destroy(object);
    }
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - known_head_ > mask_ && !make_room(tail)) [[unlikely]] {
      return destroy(object);
    }
    entries_[tail & mask_] = {object, destroy};
    tail_.store(tail + 1, std::memory_order_release);
  }
  template <class T>
  void defer(T* object) {
    if (object == nullptr) return;
    defer(
        const_cast<std::remove_const_t<T>*>(object), [](void* p) { delete static_cast<T*>(p); },
        free_cost<std::remove_const_t<T>>::of(*object));
  }
  template <class T>
  void defer(std::unique_ptr<T> object) {
    defer(object.release());
  }

  // Frees pending objects in order, until none is left or the budget is spent;
  // the answer is how many. For the owner's idle moments.
  std::size_t drain(std::chrono::nanoseconds budget = std::chrono::nanoseconds::max()) {
    if (is_inside_drain()) return 0;
    const std::scoped_lock lock(drain_mutex_);
    const bool is_limited = budget != std::chrono::nanoseconds::max();
    const auto start =
        is_limited ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    std::size_t count = 0;
    while (free_oldest()) {
      ++count;
      if (is_limited && std::chrono::steady_clock::now() - start >= budget) break;
    }
    if (count != 0 && options_.after_drain != nullptr) options_.after_drain();
    return count;
  }

  // Returns when all that was deferred so far is freed.
  void barrier() { drain(); }

  // On the owner thread.
  deferred_statistics statistics() const noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t head = head_.load(std::memory_order_acquire);
    return {tail - head, tail, freed_at_once_, drained_by_caller_, head};
  }

  // The calling thread's queue, drained when the thread ends; null after that.
  static deferred_free* of_thread();

 private:
  struct entry {
    void* object = nullptr;
    destroy_function destroy = nullptr;
  };
  struct thread_queue;
  static constexpr std::size_t caller_batch = 64;

  static bool is_inside_drain() noexcept { return draining_ != nullptr; }

  // Frees some of the oldest, unless another thread is at it: then the caller
  // frees its own object instead, and still nobody waits.
  [[gnu::noinline]] bool make_room(std::size_t tail) {
    known_head_ = head_.load(std::memory_order_acquire);
    if (tail - known_head_ <= mask_) return true;
    ++drained_by_caller_;
    const std::unique_lock lock(drain_mutex_, std::try_to_lock);
    if (!lock) return false;
    for (std::size_t i = 0; i < caller_batch && free_oldest(); ++i) {
    }
    known_head_ = head_.load(std::memory_order_relaxed);
    return true;
  }

  // Requires drain_mutex_. What a destructor defers meanwhile is freed at once.
  bool free_oldest() {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    const entry oldest = entries_[head & mask_];
    struct drain_scope {
      deferred_free* outer;
      explicit drain_scope(deferred_free* queue) : outer(std::exchange(draining_, queue)) {}
      ~drain_scope() { draining_ = outer; }
    } const scope(this);
    oldest.destroy(oldest.object);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  void start_background() {
    is_stopping_.store(false, std::memory_order_relaxed);
    has_background_ = pthread_create(&background_, nullptr, &run_background, this) == 0;
  }
  void stop_background() noexcept {
    is_stopping_.store(true, std::memory_order_relaxed);
    if (has_background_) pthread_join(background_, nullptr);
    has_background_ = false;
  }
  // Allocates first: some allocators never tend a thread whose first call is a
  // free. Sleeps by steps, without a condition variable, which a fork would
  // leave broken in the child.
  static void* run_background(void* argument) {
    auto* self = static_cast<deferred_free*>(argument);
    ::operator delete(::operator new(64));
    auto pause = std::chrono::microseconds(500);
    while (!self->is_stopping_.load(std::memory_order_relaxed)) {
      const bool was_idle = self->drain() == 0;
      pause =
          was_idle ? std::min(pause * 2, std::chrono::microseconds(10000)) : std::chrono::microseconds(500);
      std::this_thread::sleep_for(pause);
    }
    return nullptr;
  }

  // All queues, so that a fork finds none half drained. A child has no
  // background threads: its queues are drained by their owners.
  void enlist() {
    static const int registered = pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
    static_cast<void>(registered);
    const std::scoped_lock lock(list_mutex_);
    next_ = std::exchange(queues_, this);
  }
  void delist() noexcept {
    const std::scoped_lock lock(list_mutex_);
    deferred_free** link = &queues_;
    while (*link != this) link = &(*link)->next_;
    *link = next_;
  }
  static void before_fork() noexcept {
    list_mutex_.lock();
    for (auto* queue = queues_; queue != nullptr; queue = queue->next_) {
      if (queue != draining_) queue->drain_mutex_.lock();
    }
  }
  static void after_fork_in_parent() noexcept {
    for (auto* queue = queues_; queue != nullptr; queue = queue->next_) {
      if (queue != draining_) queue->drain_mutex_.unlock();
    }
    list_mutex_.unlock();
  }
  static void after_fork_in_child() noexcept {
    for (auto* queue = queues_; queue != nullptr; queue = queue->next_) queue->has_background_ = false;
    after_fork_in_parent();
  }

  static inline std::mutex list_mutex_;
  static inline deferred_free* queues_ = nullptr;
  static inline thread_local deferred_free* draining_ = nullptr;
  static inline thread_local bool thread_has_ended_ = false;

  const deferred_options options_;
  const std::size_t mask_;
  const std::unique_ptr<entry[]> entries_;
  const std::thread::id owner_;
  std::size_t known_head_ = 0;  // the owner's, so that it seldom reads head_
  std::uint64_t freed_at_once_ = 0;
  std::uint64_t drained_by_caller_ = 0;
  std::atomic<std::size_t> tail_{0};
  alignas(64) std::atomic<std::size_t> head_{0};
  std::mutex drain_mutex_;
  std::atomic<bool> is_stopping_{false};
  bool has_background_ = false;
  pthread_t background_{};
  deferred_free* next_ = nullptr;
};

struct deferred_free::thread_queue {
  deferred_free queue;
  ~thread_queue() { thread_has_ended_ = true; }
};

inline deferred_free* deferred_free::of_thread() {
  if (thread_has_ended_) return nullptr;
  thread_local thread_queue own;
  return &own.queue;
}

// Lets the thread that drops the last reference go on at once: it defers the
// object to its own queue. Frees at once when the thread is about to end.
struct deferring_deleter {
  template <class T>
  void operator()(T* object) const {
    deferred_free* queue = deferred_free::of_thread();
    if (queue == nullptr) {
      delete object;
    } else {
      queue->defer(object);
    }
  }
};

template <class T, class... Args>
std::shared_ptr<T> make_shared_deferred(Args&&... args) {
  return std::shared_ptr<T>(new T(std::forward<Args>(args)...), deferring_deleter{});
}

}  // namespace heapwright
#endif
