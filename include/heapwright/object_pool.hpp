// SPDX-License-Identifier: MIT
// length: the pool, how it sees into objects, and what tests ask of it
//
// Reuses objects that own containers, without keeping the capacity of the
// largest use for ever. Documentation: docs/parts/object_pool.md
//
// When an object comes back, the pool records how much each of its containers
// really used, clears it, and trims it when it retains much more than a
// percentile of recent uses. Each return also looks at one idle object, so a
// pool at rest forgets a spike as well.
#ifndef HEAPWRIGHT_OBJECT_POOL_HPP
#define HEAPWRIGHT_OBJECT_POOL_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/decayed_histogram.hpp"

namespace heapwright {

// Names the containers of a class for its pool:
//   static constexpr auto pool_members = heapwright::members(&Request::path, &Request::fields);
template <class... Members>
constexpr std::tuple<Members...> members(Members... pointers) noexcept {
  return {pointers...};
}

// How a pool sees into one container. Specialize it for containers that are
// not like std::vector and std::string.
template <class C>
struct retention {
  static std::size_t used_bytes(const C& container) noexcept requires requires { container.capacity(); }
  { return container.size() * sizeof(typename C::value_type); }
  static std::size_t retained_bytes(const C& container) noexcept requires requires { container.capacity(); }
  { return container.capacity() * sizeof(typename C::value_type); }
  static void clear(C& container) noexcept { container.clear(); }
  // Requires a cleared container; afterwards it retains about `bytes`.
  static void trim_to(C& container, std::size_t bytes) {
    C(container.get_allocator()).swap(container);
    container.shrink_to_fit();
    container.reserve(bytes / sizeof(typename C::value_type));
  }
};

struct pool_options {
  std::size_t max_idle;                    // returned objects beyond it are destroyed; not zero
  double retained_percentile = 90;         // of the recent uses of each container
  std::size_t always_retained_bytes = 64;  // a container is not trimmed below it
};

struct pool_statistics {
  std::size_t idle_objects;
  std::size_t outstanding_objects;
  std::size_t live_bytes;      // in the containers of idle objects: cleared, so 0
  std::size_t retained_bytes;  // the capacity of the same containers
  std::size_t limit_bytes;     // to which one object is trimmed, all containers
  std::uint64_t acquired;
  std::uint64_t created;
  std::uint64_t dropped;  // destroyed because max_idle were there
  std::uint64_t trims;
  std::uint64_t trimmed_bytes;
};

// For tests: EXPECT_TRUE(pool.retains_at_most(n)) << ... .message
struct pool_check {
  bool is_met;
  std::string message;
  explicit operator bool() const noexcept { return is_met; }
};

namespace detail {

struct no_mutex {
  void lock() noexcept {}
  void unlock() noexcept {}
};

template <class T>
concept names_pool_members = requires {
  T::pool_members;
};

// Calls visit(index, container) for each container the pool sees in `object`.
template <class T, class Visit>
void for_each_container(T& object, Visit visit) {
  if constexpr (names_pool_members<std::remove_const_t<T>>) {
    std::size_t index = 0;
    std::apply([&](auto... member) { (visit(index++, object.*member), ...); }, T::pool_members);
  } else {
    visit(std::size_t{0}, object);
  }
}

template <class T>
constexpr std::size_t container_count() {
  if constexpr (names_pool_members<T>) {
    return std::tuple_size_v<std::remove_cvref_t<decltype(T::pool_members)>>;
  } else {
    static_assert(
        requires(const T& object) { retention<T>::retained_bytes(object); },
        "object_pool<T>: T needs `static constexpr auto pool_members = heapwright::members(...)`, "
        "or a specialization of heapwright::retention<T>");
    return 1;
  }
}

}  // namespace detail

template <class T, class Mutex = detail::no_mutex>
class object_pool {
  static constexpr std::size_t containers = detail::container_count<T>();

 public:
  struct returner {
    object_pool* pool;
    void operator()(T* object) const noexcept { pool->release(object); }
  };
  using handle = std::unique_ptr<T, returner>;

  explicit object_pool(const pool_options& options) : options_(options) {
    HEAPWRIGHT_CHECK(options.max_idle != 0, "object_pool", "max_idle must not be zero");
    idle_.reserve(options.max_idle);
  }
  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;
  // Requires that every object has come back.
  ~object_pool() {
    HEAPWRIGHT_CHECK(outstanding_ == 0, "object_pool", "destroyed before all its objects came back");
    for (node* idle : idle_) delete idle;
  }

  // An object of the pool, its containers empty; comes back with the handle.
  handle acquire() { return handle(take(), returner{this}); }

  // As acquire(), for those who pair it with release() themselves.
  T* take() {
    const std::scoped_lock lock(mutex_);
    ++acquired_;
    if (idle_.empty()) {
      node* fresh = new node(this);
      ++created_;
      ++outstanding_;
      return &fresh->object;
    }
    node* reused = idle_.back();
    idle_.pop_back();
    ++outstanding_;
    reused->is_idle = false;
    return &reused->object;
  }

  // O(1), and never throws: an object that cannot be trimmed is destroyed.
  void release(T* object) noexcept {
    node* back = node_of(object);
    HEAPWRIGHT_CHECK(back->pool == this, "object_pool", "release() of an object of another pool");
    HEAPWRIGHT_CHECK(!back->is_idle, "object_pool", "release() of an object that is already back");
    node* unwanted = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      --outstanding_;
      unwanted = accept(back);
    }
    delete unwanted;
  }

  // Trims every idle object now. For an idle moment of the program.
  void trim() noexcept {
    const std::scoped_lock lock(mutex_);
    learn_limits();
    for (std::size_t i = idle_.size(); i-- > 0;) trim_idle(i);
  }

  // Destroys idle objects until `count` are left.
  void shrink_to(std::size_t count) noexcept {
    const std::scoped_lock lock(mutex_);
    while (idle_.size() > count) {
      delete idle_.back();
      idle_.pop_back();
    }
  }

  pool_statistics statistics() const {
    const std::scoped_lock lock(mutex_);
    pool_statistics result{};
    result.idle_objects = idle_.size();
    result.outstanding_objects = outstanding_;
    for (const node* idle : idle_) {
      detail::for_each_container(std::as_const(idle->object), [&]<class C>(std::size_t, const C& container) {
        result.live_bytes += retention<C>::used_bytes(container);
        result.retained_bytes += retention<C>::retained_bytes(container);
      });
    }
    for (const std::size_t limit : limits_) result.limit_bytes += limit;
    result.acquired = acquired_;
    result.created = created_;
    result.dropped = dropped_;
    result.trims = trims_;
    result.trimmed_bytes = trimmed_bytes_;
    return result;
  }

  // "object_pool: 1000 objects, 0 live bytes, 412000000 bytes retained, ..."
  std::string report() const {
    const pool_statistics s = statistics();
    return "object_pool: " + std::to_string(s.idle_objects) + " objects, " + std::to_string(s.live_bytes) +
           " live bytes, " + std::to_string(s.retained_bytes) + " bytes retained, " +
           std::to_string(s.outstanding_objects) + " not returned";
  }

  // The assertion for tests that a pool at rest is not a leak.
  pool_check retains_at_most(std::size_t bytes) const {
    const std::size_t retained = statistics().retained_bytes;
    if (retained <= bytes) return {true, {}};
    return {false, report() + "; at most " + std::to_string(bytes) + " bytes were expected"};
  }
  // The leak check of a test that ends with all objects back.
  pool_check has_all_back() const {
    const pool_statistics s = statistics();
    return {s.outstanding_objects == 0, s.outstanding_objects == 0 ? std::string() : report()};
  }

 private:
  struct node {
    explicit node(const object_pool* owner) : pool(owner) {}
    const object_pool* pool;
    bool is_idle = false;
    T object{};
  };

  static node* node_of(T* object) noexcept {
    // The distance is taken from a node that need not exist: node may not be
    // of standard layout, for which offsetof is not promised.
    alignas(node) static constexpr char room[sizeof(node)] = {};
    const auto* sample = reinterpret_cast<const node*>(&room);
    const auto distance = reinterpret_cast<const char*>(std::addressof(sample->object)) - room;
    return reinterpret_cast<node*>(reinterpret_cast<char*>(object) - distance);
  }

  // Returns the node that must be destroyed outside the lock, or null.
  node* accept(node* back) noexcept {
    record_and_clear(back->object);
    if (idle_.size() == options_.max_idle) {
      ++dropped_;
      return back;
    }
    back->is_idle = true;
    idle_.push_back(back);
    trim_idle(idle_.size() - 1);
    if (!idle_.empty()) trim_idle(next_swept_++ % idle_.size());
    return nullptr;
  }

  void record_and_clear(T& object) noexcept {
    detail::for_each_container(object, [&]<class C>(std::size_t index, C& container) {
      histories_[index].add(retention<C>::used_bytes(container));
      retention<C>::clear(container);
    });
    if (returns_++ < 16 || returns_ % 16 == 0) learn_limits();
  }
  void learn_limits() noexcept {
    for (std::size_t i = 0; i < containers; ++i) {
      const auto percentile = histories_[i].percentile(options_.retained_percentile);
      limits_[i] = std::max(static_cast<std::size_t>(percentile), options_.always_retained_bytes);
    }
  }

  // Up to 7/4 of the limit is kept: containers that double would else be
  // trimmed on each return.
  void trim_idle(std::size_t position) noexcept {
    node* idle = idle_[position];
    if (!needs_trim(idle->object) || try_trim(idle->object)) return;
    idle_[position] = idle_.back();
    idle_.pop_back();
    ++dropped_;
    delete idle;
  }
  bool needs_trim(const T& object) const noexcept {
    bool is_needed = false;
    detail::for_each_container(object, [&]<class C>(std::size_t index, const C& container) {
      is_needed = is_needed || retention<C>::retained_bytes(container) > limits_[index] / 4 * 7;
    });
    return is_needed;
  }
  bool try_trim(T& object) noexcept {
    struct counted {
      object_pool& pool;
      std::size_t before;
      T& object;
      ~counted() { pool.trimmed_bytes_ += before - std::min(before, retained(object)); }
    } const count{*this, retained(object), object};
    ++trims_;
#if defined(__cpp_exceptions)
    try {
      trim_containers(object);
    } catch (...) {  // no memory for the smaller buffer: the object goes
      return false;
    }
#else
    trim_containers(object);
#endif
    return true;
  }
  void trim_containers(T& object) {
    detail::for_each_container(object, [&]<class C>(std::size_t index, C& container) {
      if (retention<C>::retained_bytes(container) <= limits_[index] / 4 * 7) return;
      retention<C>::trim_to(container, limits_[index]);
    });
  }
  static std::size_t retained(const T& object) noexcept {
    std::size_t sum = 0;
    detail::for_each_container(object, [&]<class C>(std::size_t, const C& container) {
      sum += retention<C>::retained_bytes(container);
    });
    return sum;
  }

  static std::array<detail::decayed_histogram, containers> new_histories() noexcept {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<detail::decayed_histogram, containers>{
          (static_cast<void>(I), detail::decayed_histogram(half_life_returns))...};
    }
    (std::make_index_sequence<containers>());
  }
  static constexpr std::uint32_t half_life_returns = 128;

  pool_options options_;
  mutable Mutex mutex_;
  std::vector<node*> idle_;
  std::array<detail::decayed_histogram, containers> histories_ = new_histories();
  std::array<std::size_t, containers> limits_{};
  std::size_t outstanding_ = 0;
  std::size_t next_swept_ = 0;
  std::uint64_t returns_ = 0;
  std::uint64_t acquired_ = 0;
  std::uint64_t created_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t trims_ = 0;
  std::uint64_t trimmed_bytes_ = 0;
};

// The same pool for several threads.
template <class T>
using shared_object_pool = object_pool<T, std::mutex>;

}  // namespace heapwright
#endif
