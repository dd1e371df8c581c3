// SPDX-License-Identifier: MIT
// The common base of object_pool and shared_object_pool: access to an object's
// containers, learning how much they use, and trimming.
#ifndef HEAPWRIGHT_DETAIL_POOL_LEARNER_HPP
#define HEAPWRIGHT_DETAIL_POOL_LEARNER_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/decayed_histogram.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// Lists a class's containers for its pool:
//   static constexpr auto pool_members = heapwright::members(&Request::path, &Request::fields);
template <class... Members>
constexpr std::tuple<Members...> members(Members... pointers) noexcept {
  return {pointers...};
}

// A pool's access to one container. Specialize it for containers unlike
// std::vector and std::string.
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

// Eight elements per byte.
template <class Alloc>
struct retention<std::vector<bool, Alloc>> {
  using bits = std::vector<bool, Alloc>;
  static std::size_t used_bytes(const bits& container) noexcept { return (container.size() + 7) / 8; }
  static std::size_t retained_bytes(const bits& container) noexcept { return container.capacity() / 8; }
  static void clear(bits& container) noexcept { container.clear(); }
  static void trim_to(bits& container, std::size_t bytes) {
    bits(container.get_allocator()).swap(container);
    container.reserve(bytes * 8);
  }
};

struct pool_options {
  std::size_t max_idle;                    // objects released beyond it are destroyed; not zero
  double retained_percentile = 90;         // of the recent uses of each container; 0 to 100
  std::size_t always_retained_bytes = 64;  // containers are not trimmed below this
  const char* name = nullptr;              // for a recorder (annotate.h); null: the objects' type
};

struct pool_statistics {
  std::size_t idle_objects;
  std::size_t outstanding_objects;
  std::size_t live_bytes;      // in the containers of idle objects, which are cleared: 0
  std::size_t retained_bytes;  // the capacity of these containers
  std::size_t limit_bytes;     // what one object is trimmed to, over all its containers
  std::uint64_t acquired;
  std::uint64_t created;
  std::uint64_t dropped;  // destroyed because of max_idle
  std::uint64_t trims;
  std::uint64_t trimmed_bytes;
};

// For tests: EXPECT_TRUE(pool.retains_at_most(n)) << ... .message
struct pool_check {
  bool is_met;
  std::string message;
  explicit operator bool() const noexcept { return is_met; }
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

template <class T>
concept names_pool_members = requires {
  T::pool_members;
};

// Calls visit(index, container) for each listed container of `object`.
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

inline void check_options(const pool_options& options) noexcept {
  HEAPWRIGHT_CHECK(options.max_idle != 0, "object_pool", "max_idle must not be zero");
  HEAPWRIGHT_CHECK(options.retained_percentile >= 0 && options.retained_percentile <= 100, "object_pool",
                   "retained_percentile is from 0 to 100");
  static_cast<void>(options);
}

// Makes new objects for pools without another factory.
template <class T>
struct default_factory {
  T operator()() const { return T{}; }
};

template <class T>
struct pool_node {
  template <class Factory>
  pool_node(const void* owner, Factory& factory) : pool(owner), object(factory()) {}
  const void* pool;
  std::size_t counted_bytes = 0;  // retained when it became idle, as added to a pool's sum
  pool_node* next = nullptr;      // in a list of nodes to destroy
  bool is_idle = false;
  T object;

  static pool_node* of(T* object) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // GCC and clang support it without virtual bases
    constexpr std::size_t distance = offsetof(pool_node, object);
#pragma GCC diagnostic pop
    return reinterpret_cast<pool_node*>(reinterpret_cast<char*>(object) - distance);
  }
};

// Records the uses of a pool's objects and trims objects accordingly.
template <class T>
class pool_learner {
  static constexpr std::size_t containers = container_count<T>();

 public:
  explicit pool_learner(const pool_options& options) noexcept
      : percentile_(options.retained_percentile), always_retained_bytes_(options.always_retained_bytes) {}

  void record_and_clear(T& object) noexcept {
    for_each_container(object, [&]<class C>(std::size_t index, C& container) {
      histories_[index].add(retention<C>::used_bytes(container));
      retention<C>::clear(container);
    });
    if (returns_++ < 16 || returns_ % 16 == 0) learn_limits();
  }
  void learn_limits() noexcept {
    for (std::size_t i = 0; i < containers; ++i) {
      const auto found = histories_[i].percentile(percentile_);
      limits_[i] = std::max(static_cast<std::size_t>(found), always_retained_bytes_);
    }
  }

  // Keeps up to 7/4 of the limit: containers that double would otherwise be
  // trimmed on each release. False when there is no memory for the smaller
  // buffer: the caller must destroy the object.
  bool trim(T& object) noexcept { return !needs_trim(object) || try_trim(object); }

  static std::size_t retained(const T& object) noexcept {
    std::size_t sum = 0;
    for_each_container(object, [&]<class C>(std::size_t, const C& container) {
      sum += retention<C>::retained_bytes(container);
    });
    return sum;
  }
  static std::size_t used(const T& object) noexcept {
    std::size_t sum = 0;
    for_each_container(object, [&]<class C>(std::size_t, const C& container) {
      sum += retention<C>::used_bytes(container);
    });
    return sum;
  }
  std::size_t limit_bytes() const noexcept {
    std::size_t sum = 0;
    for (const std::size_t limit : limits_) sum += limit;
    return sum;
  }
  std::uint64_t returns() const noexcept { return returns_; }
  std::uint64_t trims() const noexcept { return trims_; }
  std::uint64_t trimmed_bytes() const noexcept { return trimmed_bytes_; }

 private:
  bool needs_trim(const T& object) const noexcept {
    bool is_needed = false;
    for_each_container(object, [&]<class C>(std::size_t index, const C& container) {
      is_needed = is_needed || retention<C>::retained_bytes(container) > limits_[index] / 4 * 7;
    });
    return is_needed;
  }
  [[gnu::noinline]] bool try_trim(T& object) noexcept {
    struct counted {
      pool_learner& learner;
      std::size_t before;
      T& object;
      ~counted() { learner.trimmed_bytes_ += before - std::min(before, retained(object)); }
    } const count{*this, retained(object), object};
    ++trims_;
#if defined(__cpp_exceptions)
    try {
      trim_containers(object);
    } catch (...) {
      return false;
    }
#else
    trim_containers(object);
#endif
    return true;
  }
  void trim_containers(T& object) {
    for_each_container(object, [&]<class C>(std::size_t index, C& container) {
      if (retention<C>::retained_bytes(container) <= limits_[index] / 4 * 7) return;
      retention<C>::trim_to(container, limits_[index]);
    });
  }
  static std::array<decayed_histogram, containers> new_histories() noexcept {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<decayed_histogram, containers>{
          (static_cast<void>(I), decayed_histogram(half_life_returns))...};
    }
    (std::make_index_sequence<containers>());
  }
  static constexpr std::uint32_t half_life_returns = 128;

  double percentile_;
  std::size_t always_retained_bytes_;
  std::array<decayed_histogram, containers> histories_ = new_histories();
  std::array<std::size_t, containers> limits_{};
  std::uint64_t returns_ = 0;
  std::uint64_t trims_ = 0;
  std::uint64_t trimmed_bytes_ = 0;
};

// "object_pool: 1000 objects, 0 live bytes, 412000000 bytes retained, ..."
inline std::string pool_report(const pool_statistics& s) {
  return "object_pool: " + std::to_string(s.idle_objects) + " objects, " + std::to_string(s.live_bytes) +
         " live bytes, " + std::to_string(s.retained_bytes) + " bytes retained, " +
         std::to_string(s.outstanding_objects) + " not returned";
}
inline pool_check check_retained(const pool_statistics& s, std::size_t most_bytes) {
  if (s.retained_bytes <= most_bytes) return {true, {}};
  return {false, pool_report(s) + "; at most " + std::to_string(most_bytes) + " bytes were expected"};
}
inline pool_check check_all_back(const pool_statistics& s) {
  return {s.outstanding_objects == 0, s.outstanding_objects == 0 ? std::string() : pool_report(s)};
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
