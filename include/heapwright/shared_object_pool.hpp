// SPDX-License-Identifier: MIT
// length: one class; the pool and the magazines of its threads
//
// object_pool for several threads. Documentation: docs/parts/object_pool.md
//
// Each thread has a magazine of idle objects that only it touches. Half a magazine
// at a time moves to or from the depot, which all threads share. No constructor,
// destructor, factory or retention<> runs under a lock.
#ifndef HEAPWRIGHT_SHARED_OBJECT_POOL_HPP
#define HEAPWRIGHT_SHARED_OBJECT_POOL_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/pool_annotation.hpp"
#include "heapwright/detail/pool_learner.hpp"
#include "heapwright/detail/thread_owned.hpp"
#include "heapwright/detail/type_name.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// As object_pool. Thread-safe except for construction and destruction; any thread
// may release an object. Factory is called by several threads.
template <class T, class Factory = detail::default_factory<T>>
class shared_object_pool {
  using node = detail::pool_node<T>;
  using learner = detail::pool_learner<T>;

 public:
  struct returner {
    shared_object_pool* pool;
    void operator()(T* object) const noexcept { pool->release(object); }
  };
  using handle = std::unique_ptr<T, returner>;

  explicit shared_object_pool(const pool_options& options, Factory factory = Factory())
      : options_(options),
        factory_(std::move(factory)),
        depot_limit_(options.max_idle),
        annotation_(this, options.name != nullptr ? options.name : detail::type_name<T>::value) {
    detail::check_options(options);
    depot_.reserve(options.max_idle);
  }
  shared_object_pool(const shared_object_pool&) = delete;
  shared_object_pool& operator=(const shared_object_pool&) = delete;
  // Requires that every object has been released and no other thread uses the pool.
  ~shared_object_pool() {
    HEAPWRIGHT_CHECK(statistics().outstanding_objects == 0, "object_pool",
                     "destroyed before all its objects came back");
    node_list all;
    {
      const std::scoped_lock<std::mutex> lock(registry_);
      for (magazine* own = magazines_; own != nullptr; own = own->next_of_pool) {
        for (std::size_t i = own->count.exchange(0); i-- > 0;) all.add(own->idle[i]);
        own->pool = nullptr;  // the thread frees it
      }
    }
    for (node* idle : depot_) all.add(idle);
    all.destroy();
  }

  // An idle or new object with empty containers; the handle releases it. Throws
  // what Factory and new throw.
  handle acquire() { return handle(take(), returner{this}); }

  // As acquire(), for callers that call release() themselves.
  T* take() {
    magazine* own = of_thread();
    T* taken = own == nullptr || own->held() == 0 ? take_slow(own) : take_kept(*own);
    annotation_.took(taken, sizeof(T));
    return taken;
  }

  // Never throws: an object that cannot be trimmed is destroyed.
  void release(T* object) noexcept {
    node* back = node::of(object);
    HEAPWRIGHT_CHECK(back->pool == this, "object_pool", "release() of an object of another pool");
    HEAPWRIGHT_CHECK(!back->is_idle, "object_pool", "release() of an object that is already back");
    annotation_.gave(object);
    magazine* own = of_thread();
    if (own == nullptr) [[unlikely]] {  // the thread is about to end
      drop(back);
      released_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    own->lessons.record_and_clear(back->object);  // may release others
    own->released.store(own->lessons.returns(), std::memory_order_relaxed);
    if (!own->lessons.trim(back->object)) return drop(back);
    put_back(*own, back);
    if (own->lessons.returns() % returns_per_sweep == 0) [[unlikely]] {
      sweep(*own);
    }
  }

  // Trims the idle objects of the depot and of this thread now, those of another
  // thread soon after its next releases.
  void trim() noexcept {
    trim_requests_.fetch_add(1, std::memory_order_relaxed);
    magazine* own = of_thread();
    if (own == nullptr) return;
    trim_all(*own);
    for (std::size_t i = depot_size(); i-- > 0;) trim_one_of_depot(*own);
  }

  // Destroys idle objects of the depot and of this thread until at most `count`
  // are left in each.
  void shrink_to(std::size_t count) noexcept {
    node_list surplus;
    if (magazine* own = of_thread()) {
      while (own->held() > count) surplus.add(unkeep(*own));
    }
    {
      const std::scoped_lock<std::mutex> lock(mutex_);
      while (depot_.size() > count) surplus.add(take_from_depot());
    }
    surplus.destroy();
  }

  // Exact while no other thread uses the pool. `limit_bytes` is the maximum over
  // the threads.
  pool_statistics statistics() const {
    const std::scoped_lock<std::mutex> lock(mutex_);
    pool_statistics s{};
    s.idle_objects = depot_.size();
    s.retained_bytes = depot_bytes_;
    counts sum = past_;
    for (const magazine* own = magazines_; own != nullptr; own = own->next_of_pool) {
      sum.add(*own);
      s.idle_objects += own->held();
      s.retained_bytes += static_cast<std::size_t>(own->retained_bytes.load(std::memory_order_relaxed));
      s.limit_bytes = std::max(s.limit_bytes, own->limit_bytes.load(std::memory_order_relaxed));
    }
    s.acquired = sum.acquired + acquired_.load(std::memory_order_relaxed);
    s.outstanding_objects =
        static_cast<std::size_t>(s.acquired - sum.released - released_.load(std::memory_order_relaxed));
    s.created = created_.load(std::memory_order_relaxed);
    s.dropped = dropped_.load(std::memory_order_relaxed);
    s.trims = sum.trims;
    s.trimmed_bytes = sum.trimmed_bytes;
    return s;
  }
  std::string report() const { return detail::pool_report(statistics()); }
  pool_check retains_at_most(std::size_t bytes) const { return detail::check_retained(statistics(), bytes); }
  pool_check has_all_back() const { return detail::check_all_back(statistics()); }

 private:
  using counter = std::atomic<std::uint64_t>;
  static constexpr std::size_t most_in_magazine = 32;
  static constexpr std::uint64_t returns_per_sweep = 8;

  // Only its thread writes to it, except for `pool`, which registry_ guards.
  struct magazine {
    explicit magazine(shared_object_pool* owner) noexcept
        : pool(owner), pool_id(owner->id_), lessons(owner->options_) {}
    shared_object_pool* pool;
    std::uint64_t pool_id;
    magazine* next_of_thread = nullptr;
    magazine* next_of_pool = nullptr;
    std::size_t capacity = 0;
    std::size_t next_swept = 0;
    std::uint64_t trim_requests_seen = 0;
    std::array<node*, most_in_magazine> idle{};
    learner lessons;
    std::atomic<std::size_t> count{0};  // of `idle`; any thread reads this and the members below
    counter retained_bytes{0};
    counter acquired{0};
    counter released{0};
    counter trims{0};
    counter trimmed_bytes{0};
    std::atomic<std::size_t> limit_bytes{0};
    std::size_t held() const noexcept { return count.load(std::memory_order_relaxed); }
  };
  struct counts {
    std::uint64_t acquired = 0;
    std::uint64_t released = 0;
    std::uint64_t trims = 0;
    std::uint64_t trimmed_bytes = 0;
    void add(const magazine& own) noexcept {
      acquired += own.acquired.load(std::memory_order_relaxed);
      released += own.released.load(std::memory_order_relaxed);
      trims += own.trims.load(std::memory_order_relaxed);
      trimmed_bytes += own.trimmed_bytes.load(std::memory_order_relaxed);
    }
  };
  // Nodes to destroy when no lock is held.
  struct node_list {
    node* first = nullptr;
    void add(node* one) noexcept { one->next = std::exchange(first, one); }
    void destroy() noexcept {
      while (first != nullptr) delete std::exchange(first, first->next);
    }
  };
  // A thread's magazines of all pools of this type, retired when it ends.
  struct thread_magazines {
    static constexpr std::size_t lists = 64;
    std::array<magazine*, lists> first{};  // by the pool's id, so that lookup stays fast with many pools
    thread_magazines() noexcept = default;
    thread_magazines(const thread_magazines&) = delete;
    thread_magazines& operator=(const thread_magazines&) = delete;
    ~thread_magazines() {
      last_used_ = {};
      for (magazine*& one : first) {
        while (one != nullptr) retire(std::exchange(one, one->next_of_thread));
      }
    }
    magazine*& list_of(std::uint64_t pool_id) noexcept { return first[pool_id % lists]; }
    // Under registry_: deletes a list's magazines whose pool was destroyed.
    static void forget_past_pools(magazine*& list) noexcept {
      for (magazine** link = &list; *link != nullptr;) {
        magazine* one = *link;
        if (one->pool != nullptr) {
          link = &one->next_of_thread;
        } else {
          *link = one->next_of_thread;
          delete one;
        }
      }
    }
  };
  struct found {
    std::uint64_t pool_id = 0;
    magazine* own = nullptr;
  };

  // Single writer: no locked instruction.
  static void add(counter& to, std::uint64_t value) noexcept {
    to.store(to.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }

  // Null when the thread is about to end, or out of memory.
  magazine* of_thread() noexcept {
    if (last_used_.pool_id == id_) [[likely]] {
      return last_used_.own;
    }
    return find_magazine();
  }
  [[gnu::noinline]] magazine* find_magazine() noexcept {
    auto* all = detail::thread_owned<thread_magazines>::get();
    if (all == nullptr) return nullptr;
    magazine* own = all->list_of(id_);
    while (own != nullptr && own->pool_id != id_) own = own->next_of_thread;
    if (own == nullptr) own = new_magazine(*all);
    if (own != nullptr) last_used_ = {id_, own};
    return own;
  }
  magazine* new_magazine(thread_magazines& all) noexcept {
    auto* fresh = new (std::nothrow) magazine(this);
    if (fresh == nullptr) return nullptr;
    const std::scoped_lock<std::mutex, std::mutex> lock(registry_, mutex_);
    for (magazine*& list : all.first) thread_magazines::forget_past_pools(list);
    fresh->next_of_thread = std::exchange(all.list_of(id_), fresh);
    fresh->next_of_pool = std::exchange(magazines_, fresh);
    fresh->capacity = std::min(next_share(), depot_limit_ - std::min(depot_limit_, depot_.size()));
    depot_limit_ -= fresh->capacity;
    return fresh;
  }
  // An eighth of max_idle less the earlier magazines' shares, at least one object
  // while more than half of max_idle is left: idle threads cannot use up the depot.
  std::size_t next_share() const noexcept {
    const std::size_t least = depot_limit_ > options_.max_idle - options_.max_idle / 2 ? 1 : 0;
    return std::clamp(depot_limit_ / 8, least, most_in_magazine);
  }
  // At the thread's end: moves its objects to the depot if the pool still exists.
  static void retire(magazine* own) noexcept {
    node_list surplus;
    {
      const std::scoped_lock<std::mutex> lock(registry_);
      if (own->pool != nullptr) own->pool->take_back(*own, surplus);
    }
    surplus.destroy();
    delete own;
  }
  void take_back(magazine& own, node_list& surplus) {
    const std::scoped_lock<std::mutex> lock(mutex_);
    depot_limit_ += own.capacity;
    while (own.held() != 0) put_in_depot(unkeep(own), surplus);
    past_.add(own);
    magazine** link = &magazines_;
    while (*link != &own) link = &(*link)->next_of_pool;
    *link = own.next_of_pool;
  }

  T* take_kept(magazine& own) noexcept {
    node* taken = unkeep(own);
    add(own.acquired, 1);
    taken->is_idle = false;
    return std::addressof(taken->object);
  }
  [[gnu::noinline]] T* take_slow(magazine* own) {
    node* taken = nullptr;
    {
      const std::scoped_lock<std::mutex> lock(mutex_);
      if (!depot_.empty()) taken = take_from_depot();
      for (std::size_t i = own != nullptr ? own->capacity / 2 : 0; i != 0 && !depot_.empty(); --i) {
        keep_counted(*own, take_from_depot());
      }
    }
    if (taken == nullptr) {
      taken = new node(this, factory_);
      created_.fetch_add(1, std::memory_order_relaxed);
    }
    taken->is_idle = false;
    own != nullptr ? add(own->acquired, 1) : static_cast<void>(acquired_.fetch_add(1));
    return std::addressof(taken->object);
  }

  static void count_bytes(node* idle) noexcept { idle->counted_bytes = learner::retained(idle->object); }
  void keep(magazine& own, node* back) noexcept {
    back->is_idle = true;
    count_bytes(back);
    keep_counted(own, back);
  }
  void keep_counted(magazine& own, node* back) noexcept {
    const std::size_t count = own.held();
    own.idle[count] = back;
    own.count.store(count + 1, std::memory_order_relaxed);
    add(own.retained_bytes, back->counted_bytes);
  }
  void put_back(magazine& own, node* back) noexcept {
    if (own.held() != own.capacity || make_room(own, back)) keep(own, back);
  }
  node* unkeep(magazine& own) noexcept {
    const std::size_t count = own.held() - 1;
    node* idle = own.idle[count];
    own.count.store(count, std::memory_order_relaxed);
    add(own.retained_bytes, -idle->counted_bytes);
    return idle;
  }
  // Moves half of a full magazine to the depot. With capacity 0, puts the object
  // itself there and returns false.
  [[gnu::noinline]] bool make_room(magazine& own, node* back) noexcept {
    node_list surplus;
    if (own.capacity == 0) {
      back->is_idle = true;
      count_bytes(back);
    }
    {
      const std::scoped_lock<std::mutex> lock(mutex_);
      if (own.capacity == 0) put_in_depot(back, surplus);
      for (std::size_t i = (own.capacity + 1) / 2; i != 0; --i) put_in_depot(unkeep(own), surplus);
    }
    surplus.destroy();
    return own.capacity != 0;
  }

  // The depot, under mutex_.
  void put_in_depot(node* idle, node_list& surplus) {
    if (depot_.size() >= depot_limit_) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return surplus.add(idle);
    }
    depot_bytes_ += idle->counted_bytes;
    depot_.push_back(idle);
    depot_count_.store(depot_.size(), std::memory_order_relaxed);
  }
  node* take_from_depot() noexcept {
    node* idle = depot_.back();
    depot_.pop_back();
    depot_count_.store(depot_.size(), std::memory_order_relaxed);
    depot_bytes_ -= idle->counted_bytes;
    return idle;
  }
  // Read without the lock, possibly stale: an empty depot costs no lock.
  std::size_t depot_size() const noexcept { return depot_count_.load(std::memory_order_relaxed); }

  void drop(node* unwanted) noexcept {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    delete unwanted;
  }

  // Checks one object of the magazine and one of the depot, so that idle objects
  // shrink after a spike.
  [[gnu::noinline]] void sweep(magazine& own) noexcept {
    const std::uint64_t requests = trim_requests_.load(std::memory_order_relaxed);
    if (std::exchange(own.trim_requests_seen, requests) != requests) return trim_all(own);
    trim_kept(own, own.next_swept++);
    trim_one_of_depot(own);
    publish(own);
  }
  void publish(magazine& own) noexcept {
    own.trims.store(own.lessons.trims(), std::memory_order_relaxed);
    own.trimmed_bytes.store(own.lessons.trimmed_bytes(), std::memory_order_relaxed);
    own.limit_bytes.store(own.lessons.limit_bytes(), std::memory_order_relaxed);
  }
  void trim_all(magazine& own) noexcept {
    own.lessons.learn_limits();
    for (std::size_t i = own.held(); i-- > 0;) trim_kept(own, i);
    publish(own);
  }
  void trim_kept(magazine& own, std::size_t position) noexcept {
    const std::size_t count = own.held();
    if (count == 0) return;
    std::swap(own.idle[position % count], own.idle[count - 1]);
    node* idle = unkeep(own);
    own.lessons.trim(idle->object) ? put_back(own, idle) : drop(idle);  // may have released others
  }
  void trim_one_of_depot(magazine& own) noexcept {
    if (depot_size() == 0) return;
    node* idle = nullptr;
    std::size_t place = 0;
    {
      const std::scoped_lock<std::mutex> lock(mutex_);
      if (depot_.empty()) return;
      place = next_swept_++ % depot_.size();
      std::swap(depot_[place], depot_.back());
      idle = take_from_depot();
    }
    if (!own.lessons.trim(idle->object)) return drop(idle);
    count_bytes(idle);
    node_list surplus;
    {
      const std::scoped_lock<std::mutex> lock(mutex_);
      put_in_depot(idle, surplus);
      if (place < depot_.size()) std::swap(depot_[place], depot_.back());  // so that the sweep skips none
    }
    surplus.destroy();
  }

  // Guards the links between threads and pools; locked before any mutex_.
  static inline std::mutex registry_;
  static inline std::atomic<std::uint64_t> pools_made_{0};
  static inline constinit thread_local found last_used_{};

  const std::uint64_t id_ = pools_made_.fetch_add(1, std::memory_order_relaxed) + 1;
  const pool_options options_;
  [[no_unique_address]] Factory factory_;
  counter acquired_{0};  // by threads without a magazine
  counter released_{0};
  counter created_{0};
  counter dropped_{0};
  std::atomic<std::uint64_t> trim_requests_{0};
  mutable std::mutex mutex_;
  std::vector<node*> depot_;
  std::atomic<std::size_t> depot_count_{0};  // depot_.size(), readable without the lock
  std::size_t depot_limit_;                  // max_idle less the capacity of all magazines
  std::size_t depot_bytes_ = 0;
  std::size_t next_swept_ = 0;
  counts past_;  // of threads that have ended
  magazine* magazines_ = nullptr;
  [[no_unique_address]] detail::pool_annotation annotation_;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
