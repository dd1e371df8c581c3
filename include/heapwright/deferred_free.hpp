// SPDX-License-Identifier: MIT
// Moves the cost of freeing large objects out of latency-critical code.
// Documentation: docs/parts/deferred_free.md
//
// length: the ring buffer, its draining, and fork handling
//
// A ring buffer of fixed size, filled by its owner thread. It is drained by the
// owner when idle, by the owner when full (counted), or by a background thread.
//
//   entries_:  head_ ... pending ... tail_     (positions only increase)
//              ^ drained under drain_mutex_    ^ written by the owner only
#ifndef HEAPWRIGHT_DEFERRED_FREE_HPP
#define HEAPWRIGHT_DEFERRED_FREE_HPP

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/exit_policy.hpp"
#include "heapwright/detail/thread_owned.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// About how many heap blocks the destruction of an object frees: the size() of
// containers, the maximum for other types. Specialize it for your own types.
template <class T>
struct free_cost {
  static std::size_t of(const T& object) noexcept {
    if constexpr (requires {
                    { object.size() } -> std::convertible_to<std::size_t>;
                  }) {
      return static_cast<std::size_t>(object.size());
    } else {
      return ~std::size_t{0};
    }
  }
};

struct deferred_options {
  std::size_t entries = 4096;   // capacity of the ring, rounded up to a power of two
  std::size_t cheap_cost = 64;  // objects of up to this cost are freed at once
  bool has_background_thread = false;
  void (*after_drain)() = nullptr;  // called after a drain that freed something, for an allocator's flush
};

struct deferred_statistics {
  std::size_t pending;
  std::uint64_t deferred;
  std::uint64_t freed_at_once;      // cheap, or deferred by a destructor during a drain
  std::uint64_t drained_by_caller;  // because the ring was full
  std::uint64_t freed;              // deferred objects freed so far
};

class deferred_free {
 public:
  using destroy_function = void (*)(void* object);

  // The calling thread becomes the owner. Throws std::bad_alloc.
  explicit deferred_free(const deferred_options& options = {})
      : deferred_free(options, std::make_unique<entry[]>(ring_of(options.entries))) {}
  deferred_free(const deferred_free&) = delete;
  deferred_free& operator=(const deferred_free&) = delete;
  // Frees all pending objects. Must not run within an object that this queue frees.
  ~deferred_free() {
    HEAPWRIGHT_CHECK(!is_drained_by_caller(), "deferred_free", "a queue is destroyed by an object it frees");
    stop_background();
    delist();
    barrier();
  }

  // Destroys the object later, on the owner or the background thread. Only the
  // owner may call it, and without a lock that a deferred destructor takes. Does
  // not allocate. O(1); with a full ring it frees up to 64 pending objects first.
  void defer(void* object, destroy_function destroy, std::size_t cost = ~std::size_t{0}) {
    HEAPWRIGHT_CHECK(std::this_thread::get_id() == owner_, "deferred_free",
                     "defer() is called by the thread that made the queue");
    if (cost <= options_.cheap_cost || is_inside_drain()) {
      ++freed_at_once_;
      return destroy(object);
    }
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - known_head_ > mask_) [[unlikely]] {
      return defer_when_full({object, destroy});
    }
    put({object, destroy}, tail);
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
  // Always deferred, because the number of elements is unknown.
  template <class T>
  void defer(std::unique_ptr<T[]> array) {
    if (array == nullptr) return;
    defer(const_cast<std::remove_const_t<T>*>(array.release()), [](void* p) { delete[] static_cast<T*>(p); });
  }

  // Frees pending objects in order until none is left or the budget is spent, which
  // includes waiting for another thread that drains. Returns how many it freed.
  // An exception from a destructor is passed on; that object counts as freed.
  std::size_t drain(std::chrono::nanoseconds budget = std::chrono::nanoseconds::max()) {
    if (is_drained_by_caller()) return 0;
    const deadline end(budget);
    const drain_lock lock(*this, end);
    if (!lock.is_held) return 0;
    std::size_t count = 0;
    while (free_oldest()) {
      ++count;
      if (end.has_passed()) break;
    }
    if (count != 0 && options_.after_drain != nullptr) options_.after_drain();
    return count;
  }

  // Returns when everything deferred so far is freed.
  void barrier() { drain(); }

  // Also false in a forked child: its queues are drained by their owners.
  bool has_background_thread() const noexcept { return has_background_; }

  // Only on the owner thread.
  deferred_statistics statistics() const noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t head = head_.load(std::memory_order_acquire);
    return {tail - head, tail, freed_at_once_, drained_by_caller_, head};
  }

  // The calling thread's queue, drained when the thread ends; null after that and
  // when out of memory. The thread that calls exit() drains its queue while static
  // objects are destroyed.
  static deferred_free* of_thread() noexcept;

 private:
  struct entry {
    void* object = nullptr;
    destroy_function destroy = nullptr;
  };
  struct thread_queue;
  static constexpr std::size_t caller_batch = 64;

  // Clamped to the largest power of two, for which the allocation fails.
  static constexpr std::size_t ring_of(std::size_t entries) noexcept {
    return std::bit_ceil(std::min(entries, ~(~std::size_t{0} >> 1)));
  }

  deferred_free(const deferred_options& options, std::unique_ptr<entry[]> entries)
      : options_(options),
        mask_(ring_of(options.entries) - 1),
        entries_(std::move(entries)),
        owner_(std::this_thread::get_id()) {
    HEAPWRIGHT_CHECK(options.entries != 0, "deferred_free", "the number of entries must not be zero");
    enlist();
    if (options.has_background_thread) start_background();
  }

  class deadline {
   public:
    explicit deadline(std::chrono::nanoseconds budget)
        : is_limited_(budget != std::chrono::nanoseconds::max()), budget_(budget) {
      if (is_limited_) start_ = std::chrono::steady_clock::now();
    }
    bool has_passed() const { return is_limited_ && std::chrono::steady_clock::now() - start_ >= budget_; }

   private:
    bool is_limited_;
    std::chrono::nanoseconds budget_;
    std::chrono::steady_clock::time_point start_;
  };

  // Takes drain_mutex_ unless the deadline passes first. The background thread
  // yields to waiters.
  struct drain_lock {
    deferred_free& queue;
    bool is_held = false;
    drain_lock(deferred_free& q, const deadline& end) : queue(q), is_held(q.drain_mutex_.try_lock()) {
      if (is_held) return;
      queue.waiting_.fetch_add(1, std::memory_order_relaxed);
      while (!is_held && !end.has_passed()) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        is_held = queue.drain_mutex_.try_lock();
      }
      queue.waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    drain_lock(const drain_lock&) = delete;
    drain_lock& operator=(const drain_lock&) = delete;
    ~drain_lock() {
      if (is_held) queue.drain_mutex_.unlock();
    }
  };

  // The queues that this thread is draining, innermost first: an object may own
  // another queue.
  struct active_drain {
    const deferred_free* queue;
    active_drain* outer;
    explicit active_drain(const deferred_free* q) noexcept
        : queue(q), outer(std::exchange(draining_, this)) {}
    active_drain(const active_drain&) = delete;
    active_drain& operator=(const active_drain&) = delete;
    ~active_drain() { draining_ = outer; }
  };
  static bool is_inside_drain() noexcept { return draining_ != nullptr; }
  bool is_drained_by_caller() const noexcept {
    const active_drain* active = draining_;
    while (active != nullptr && active->queue != this) active = active->outer;
    return active != nullptr;
  }

  void put(const entry& added, std::size_t tail) noexcept {
    entries_[tail & mask_] = added;
    tail_.store(tail + 1, std::memory_order_release);
  }

  // Frees some of the oldest objects. If another thread is draining, frees the
  // caller's own object instead: the caller never waits.
  [[gnu::noinline]] void defer_when_full(const entry& added) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    known_head_ = head_.load(std::memory_order_acquire);
    if (tail - known_head_ <= mask_) return put(added, tail);
    ++drained_by_caller_;
    const std::unique_lock<std::mutex> lock(drain_mutex_, std::try_to_lock);
    if (!lock) return added.destroy(added.object);
    struct put_at_end {  // also when a destructor throws: there is room by then
      deferred_free& queue;
      const entry& added;
      std::size_t tail;
      ~put_at_end() {
        queue.known_head_ = queue.head_.load(std::memory_order_relaxed);
        queue.put(added, tail);
      }
    } const last{*this, added, tail};
    for (std::size_t i = 0; i < caller_batch && free_oldest(); ++i) {
    }
  }

  // Requires drain_mutex_. What a destructor defers during the call is freed at
  // once. The entry is always removed: a destructor that throws does not run twice.
  bool free_oldest() {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    const entry oldest = entries_[head & mask_];
    const active_drain scope(this);
    struct taken {
      std::atomic<std::size_t>& head;
      std::size_t next;
      ~taken() { head.store(next, std::memory_order_release); }
    } const last{head_, head + 1};
    oldest.destroy(oldest.object);
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
  // Allocates first: some allocators never set up a cache for a thread that only
  // frees. Polls instead of using a condition variable, which a fork would leave
  // broken in the child.
  static void* run_background(void* argument) {
    auto* self = static_cast<deferred_free*>(argument);
    ::operator delete(::operator new(64));
    auto pause = std::chrono::microseconds(500);
    while (!self->is_stopping_.load(std::memory_order_relaxed)) {
      const bool was_idle = self->drain_in_slices() == 0;
      pause =
          was_idle ? std::min(pause * 2, std::chrono::microseconds(10000)) : std::chrono::microseconds(500);
      std::this_thread::sleep_for(pause);
    }
    return nullptr;
  }
  std::size_t drain_in_slices() {
    std::size_t sum = 0;
    while (const std::size_t count = drain(std::chrono::milliseconds(1))) {
      sum += count;
      while (waiting_.load(std::memory_order_relaxed) != 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    return sum;
  }

  // The list of all queues lets a fork wait until none is half drained. A child has
  // no background threads: its queues are drained by their owners.
  void enlist() {
    static const int registered = pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
    static_cast<void>(registered);
    const std::scoped_lock<std::mutex> lock(list_mutex_);
    next_ = std::exchange(queues_, this);
  }
  void delist() noexcept {
    const std::scoped_lock<std::mutex> lock(list_mutex_);
    deferred_free** link = &queues_;
    while (*link != this) link = &(*link)->next_;
    *link = next_;
  }
  // A thread that drains may be waiting for the list: take all locks, or release them and retry.
  static void before_fork() noexcept {
    for (;;) {
      list_mutex_.lock();
      deferred_free* queue = queues_;
      while (queue != nullptr && (queue->is_drained_by_caller() || queue->drain_mutex_.try_lock())) {
        queue = queue->next_;
      }
      if (queue == nullptr) return;
      unlock_until(queue);
      list_mutex_.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  static void unlock_until(const deferred_free* end) noexcept {
    for (auto* queue = queues_; queue != end; queue = queue->next_) {
      if (!queue->is_drained_by_caller()) queue->drain_mutex_.unlock();
    }
  }
  static void after_fork_in_parent() noexcept {
    unlock_until(nullptr);
    list_mutex_.unlock();
  }
  static void after_fork_in_child() noexcept {
    for (auto* queue = queues_; queue != nullptr; queue = queue->next_) {
      queue->has_background_ = false;
      queue->waiting_.store(0, std::memory_order_relaxed);
    }
    after_fork_in_parent();
  }

  static inline std::mutex list_mutex_;
  static inline deferred_free* queues_ = nullptr;
  static inline thread_local active_drain* draining_ = nullptr;

  const deferred_options options_;
  const std::size_t mask_;
  const std::unique_ptr<entry[]> entries_;
  const std::thread::id owner_;
  std::size_t known_head_ = 0;  // the owner's copy of head_, which it seldom reads
  std::uint64_t freed_at_once_ = 0;
  std::uint64_t drained_by_caller_ = 0;
  std::atomic<std::size_t> tail_{0};
  alignas(64) std::atomic<std::size_t> head_{0};
  std::mutex drain_mutex_;
  std::atomic<unsigned> waiting_{0};
  std::atomic<bool> is_stopping_{false};
  bool has_background_ = false;
  pthread_t background_{};
  deferred_free* next_ = nullptr;
};

struct deferred_free::thread_queue {
  explicit thread_queue(std::unique_ptr<entry[]>&& entries) noexcept : queue({}, std::move(entries)) {}
  deferred_free queue;
};

inline deferred_free* deferred_free::of_thread() noexcept {
  using owned = detail::thread_owned<thread_queue>;
  if (thread_queue* own = owned::current()) return &own->queue;
  if (!owned::can_be_made()) return nullptr;
  std::unique_ptr<entry[]> entries(new (std::nothrow) entry[std::bit_ceil(deferred_options{}.entries)]);
  thread_queue* own = entries != nullptr ? owned::make(std::move(entries)) : nullptr;
  return own != nullptr ? &own->queue : nullptr;
}

// The thread that drops the last reference defers the object to its own queue, or
// frees it at once if it has none. For single objects only: a deleter cannot tell
// an array from its first element.
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

// A shared_ptr with deferring_deleter: two allocations.
template <class T, class... Args>
std::shared_ptr<T> make_shared_deferred(Args&&... args) {
  static_assert(!std::is_array_v<T>, "make_shared_deferred makes single objects");
  return std::shared_ptr<T>(new T(std::forward<Args>(args)...), deferring_deleter{});
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
