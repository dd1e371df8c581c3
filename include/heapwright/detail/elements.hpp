// SPDX-License-Identifier: MIT
// Construction, relocation and destruction of element ranges through an
// allocator. Guards roll back, not catch blocks: this compiles without exceptions
// and hides no error.
#ifndef HEAPWRIGHT_DETAIL_ELEMENTS_HPP
#define HEAPWRIGHT_DETAIL_ELEMENTS_HPP

#include <bit>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// True if moving a T and destroying the source equals copying its bytes.
// Specialize it for your own types (most handles and smart pointers qualify; a
// type that holds a pointer into itself does not).
template <class T>
struct is_trivially_relocatable : std::is_trivially_copyable<T> {};
template <class T>
inline constexpr bool is_trivially_relocatable_v = is_trivially_relocatable<T>::value;

}  // namespace heapwright::inline HEAPWRIGHT_ABI

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

// Detects std::pmr's allocator without its header. Elements of one vector share one
// resource, so moving them within it neither allocates nor throws.
template <class Alloc>
concept has_memory_resource = requires(const Alloc& alloc) {
  alloc.resource()->is_equal(*alloc.resource());
};

template <class Alloc, class T>
concept has_construct = requires(Alloc& alloc, T* where) {
  alloc.construct(where);
}
|| requires(Alloc& alloc, T* where) { alloc.construct(where, std::move(*where)); }
|| requires(Alloc& alloc, T* where) { alloc.destroy(where); };

// Whether T is constructed and destroyed directly, without the allocator.
template <class Alloc, class T>
inline constexpr bool constructs_plainly =
    !has_construct<Alloc, T> || (has_memory_resource<Alloc> && !std::uses_allocator_v<T, Alloc>);

template <class Alloc, class T>
inline constexpr bool relocates_bytes = is_trivially_relocatable_v<T> &&
                                        (constructs_plainly<Alloc, T> || has_memory_resource<Alloc>);

template <class Alloc, class T>
constexpr bool relocates_without_throwing() noexcept {
  if constexpr (relocates_bytes<Alloc, T>) {
    return true;
  } else if constexpr (constructs_plainly<Alloc, T> || has_memory_resource<Alloc>) {
    return std::is_nothrow_move_constructible_v<T>;
  } else {
    return noexcept(std::allocator_traits<Alloc>::construct(std::declval<Alloc&>(), std::declval<T*>(),
                                                            std::declval<T>()));
  }
}
template <class Alloc, class T>
inline constexpr bool is_nothrow_relocatable = relocates_without_throwing<Alloc, T>();

// Small values are passed by copy, so that no argument has to be kept in memory in
// case the vector grows.
template <class Alloc, class T>
inline constexpr bool passes_in_registers = std::is_trivially_copyable_v<T> &&
                                            sizeof(T) <= 2 * sizeof(void*) && constructs_plainly<Alloc, T>;

// Such a value is made by T(args...), which with one argument is a cast: allowed
// only for arguments that T's constructors take.
template <class Alloc, class T, class... Args>
concept emplaceable = !passes_in_registers<Alloc, T> || std::is_constructible_v<T, Args...>;

template <class Alloc, class T>
constexpr void destroy_range(Alloc& alloc, T* first, T* last) noexcept {
  if constexpr (std::is_trivially_destructible_v<T> && constructs_plainly<Alloc, T>) {
    return;
  } else {
    for (; first != last; ++first) std::allocator_traits<Alloc>::destroy(alloc, first);
  }
}

// Destroys [first, last) unless dismissed; `last` advances with each construction.
template <class Alloc, class T>
struct construction_guard {
  using value_type = T;
  static constexpr bool is_plain = constructs_plainly<Alloc, T>;
  Alloc& alloc;
  T* first;
  T* last;
  constexpr construction_guard(Alloc& a, T* from) noexcept : alloc(a), first(from), last(from) {}
  construction_guard(const construction_guard&) = delete;
  construction_guard& operator=(const construction_guard&) = delete;
  constexpr ~construction_guard() { destroy_range(alloc, first, last); }
  constexpr void dismiss() noexcept { first = last; }
  template <class... Args>
  constexpr void construct(Args&&... args) {
    std::allocator_traits<Alloc>::construct(alloc, last, std::forward<Args>(args)...);
    ++last;
  }
};

template <class T>
void copy_bytes(T* to, const T* from, std::size_t count) noexcept {
  if (count == 0) return;
  if (to == nullptr || from == nullptr) __builtin_unreachable();  // for GCC's -Wnonnull
  std::memmove(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(T));
}
// As copy_bytes, for ranges that do not overlap.
template <class T>
void copy_bytes_apart(T* to, const T* from, std::size_t count) noexcept {
  if (count == 0) return;
  if (to == nullptr || from == nullptr) __builtin_unreachable();
  std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(T));
}

// Writes `count` copies of a trivially copyable value.
template <class T>
void fill_bytes(T* to, const T& value, std::size_t count) noexcept {
  if constexpr (sizeof(T) == 1) {
    if (count == 0) [[unlikely]] {
      return;
    }
    std::memset(static_cast<void*>(to), std::bit_cast<unsigned char>(value), count);
  } else {
    std::uninitialized_fill_n(to, count, value);
  }
}

// Sources of new elements: construct(guard, count) makes the next `count`.
// writes_bytes<Guard>: it only writes memory and cannot throw.

// Whether constructing a T from *It equals copying its bytes.
template <class It, class T>
concept reads_bytes = std::contiguous_iterator<It> && std::is_trivially_copyable_v<T> &&
                      std::is_same_v<std::remove_cvref_t<std::iter_reference_t<It>>, T> &&
                      !std::is_volatile_v<std::remove_reference_t<std::iter_reference_t<It>>> &&
                      std::is_trivially_constructible_v<T, std::iter_reference_t<It>>;

template <class It>
struct iterator_source {
  It from;
  template <class Guard>
  static constexpr bool writes_bytes = (Guard::is_plain && reads_bytes<It, typename Guard::value_type>);
  template <class Guard>
  constexpr void construct(Guard& guard, std::size_t count) {
    if constexpr (writes_bytes<Guard>) {
      if (!std::is_constant_evaluated()) {
        copy_bytes_apart<typename Guard::value_type>(guard.last, std::to_address(from), count);
        guard.last += count;
        from += static_cast<std::iter_difference_t<It>>(count);
        return;
      }
    }
    for (; count != 0; --count, void(), ++from) guard.construct(*from);
  }
};

template <class It>
iterator_source(It) -> iterator_source<It>;

// Holds a small value by copy: a reference would force it into memory.
template <class T>
struct copies_source {
  static constexpr bool holds_value =
      std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && sizeof(T) <= 2 * sizeof(void*);
  std::conditional_t<holds_value, const T, const T&> value;
  template <class Guard>
  static constexpr bool writes_bytes = (Guard::is_plain && std::is_trivially_copyable_v<T>);
  template <class Guard>
  constexpr void construct(Guard& guard, std::size_t count) {
    if constexpr (writes_bytes<Guard>) {
      if (!std::is_constant_evaluated()) {
        fill_bytes(guard.last, value, count);
        guard.last += count;
        return;
      }
    }
    for (; count != 0; --count) guard.construct(value);
  }
};

struct default_source {
  template <class Guard>
  static constexpr bool writes_bytes = (Guard::is_plain && std::is_scalar_v<typename Guard::value_type>);
  template <class Guard>
  constexpr void construct(Guard& guard, std::size_t count) {
    using T = typename Guard::value_type;
    if constexpr (writes_bytes<Guard>) {  // libstdc++ 12's construct_n writes the first separately
      if (!std::is_constant_evaluated()) {
        guard.last = std::uninitialized_fill_n(guard.last, count, T());
        return;
      }
    } else if constexpr (Guard::is_plain && std::is_trivially_copyable_v<T>) {
      if (!std::is_constant_evaluated()) {
        guard.last = std::uninitialized_value_construct_n(guard.last, count);
        return;
      }
    }
    for (; count != 0; --count) guard.construct();
  }
};

// One value, moved.
template <class T>
struct moved_source {
  T& value;
  template <class>
  static constexpr bool writes_bytes = false;
  template <class Guard>
  constexpr void construct(Guard& guard, std::size_t) {
    guard.construct(std::move(value));
  }
};

// Moves [first, last) to raw memory at `to` and destroys the source. If a
// constructor throws, the source keeps all its elements; they are unchanged where
// std::vector's would be on growth, unless `moves_always`.
template <bool moves_always = false, class Alloc, class T>
constexpr void relocate(Alloc& alloc, T* first, T* last, T* to) {
  if constexpr (relocates_bytes<Alloc, T>) {
    if (!std::is_constant_evaluated()) {
      copy_bytes_apart(to, first, static_cast<std::size_t>(last - first));
      return;
    }
  }
  construction_guard<Alloc, T> guard(alloc, to);
  for (T* from = first; from != last; ++from) {
    if constexpr (moves_always) {
      guard.construct(std::move(*from));
    } else {
      guard.construct(std::move_if_noexcept(*from));
    }
  }
  guard.dismiss();
  destroy_range(alloc, first, last);
}

// Moves [first, last) within an array over raw memory. Requires moves that cannot
// throw.
template <class Alloc, class T>
constexpr void relocate_up(Alloc& alloc, T* first, T* last, std::size_t by) noexcept {
  if constexpr (relocates_bytes<Alloc, T>) {
    if (!std::is_constant_evaluated()) {
      return copy_bytes(first + by, first, static_cast<std::size_t>(last - first));
    }
  }
  while (last != first) {
    --last;
    std::allocator_traits<Alloc>::construct(alloc, last + by, std::move(*last));
    std::allocator_traits<Alloc>::destroy(alloc, last);
  }
}
template <class Alloc, class T>
constexpr void relocate_down(Alloc& alloc, T* first, T* last, T* to) noexcept {
  if constexpr (relocates_bytes<Alloc, T>) {
    if (!std::is_constant_evaluated()) return copy_bytes(to, first, static_cast<std::size_t>(last - first));
  }
  for (; first != last; ++first, ++to) {
    std::allocator_traits<Alloc>::construct(alloc, to, std::move(*first));
    std::allocator_traits<Alloc>::destroy(alloc, first);
  }
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
