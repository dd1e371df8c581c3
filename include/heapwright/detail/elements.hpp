// SPDX-License-Identifier: MIT
// Construction, relocation and destruction of element ranges through an
// allocator. Rollback is done by guards, not by catch blocks: it works without
// exceptions and hides no error.
#ifndef HEAPWRIGHT_DETAIL_ELEMENTS_HPP
#define HEAPWRIGHT_DETAIL_ELEMENTS_HPP

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

namespace heapwright {

// True when moving a T and destroying the source equals copying its bytes.
// Specialize it for own types (most handles and smart pointers qualify; a type
// that holds a pointer into itself does not).
template <class T>
struct is_trivially_relocatable : std::is_trivially_copyable<T> {};
template <class T>
inline constexpr bool is_trivially_relocatable_v = is_trivially_relocatable<T>::value;

}  // namespace heapwright

namespace heapwright::detail {

template <class Alloc, class T>
constexpr void destroy_range(Alloc& alloc, T* first, T* last) noexcept {
  if constexpr (std::is_trivially_destructible_v<T> && !requires { alloc.destroy(first); }) {
    return;
  } else {
    for (; first != last; ++first) std::allocator_traits<Alloc>::destroy(alloc, first);
  }
}

// Destroys [first, last) unless dismissed; `last` grows with the work.
template <class Alloc, class T>
struct construction_guard {
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

// Moves [first, last) to raw memory at `to` and ends the life of the source.
// If a constructor throws, the source is whole (copied) as std::vector's is.
template <class Alloc, class T>
constexpr void relocate(Alloc& alloc, T* first, T* last, T* to) {
  if constexpr (is_trivially_relocatable_v<T>) {
    if (!std::is_constant_evaluated()) {
      copy_bytes(to, first, static_cast<std::size_t>(last - first));
      return;
    }
  }
  construction_guard<Alloc, T> guard(alloc, to);
  for (T* from = first; from != last; ++from) guard.construct(std::move_if_noexcept(*from));
  guard.dismiss();
  destroy_range(alloc, first, last);
}

template <class T>
inline constexpr bool is_nothrow_relocatable =
    is_trivially_relocatable_v<T> || std::is_nothrow_move_constructible_v<T>;

}  // namespace heapwright::detail
#endif
