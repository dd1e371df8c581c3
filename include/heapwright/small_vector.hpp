// SPDX-License-Identifier: MIT
// Vectors whose first elements need no heap. Documentation:
// docs/parts/small_vector.md
//
//   small_vector<T, N>          fast layout, 16 bytes with 8 bytes inline
//   compact_vector<T, N>        8-byte handle, for fields stored by the million
//   small_vector_ref<T>         any small_vector<T, N>, for function parameters
//   tracked_small_vector<T, N>  measures which N suffices
#ifndef HEAPWRIGHT_SMALL_VECTOR_HPP
#define HEAPWRIGHT_SMALL_VECTOR_HPP

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/compact_storage.hpp"
#include "heapwright/detail/tracked_storage.hpp"
#include "heapwright/detail/vector_hash.hpp"
#include "heapwright/detail/vector_interface.hpp"
#include "heapwright/detail/vector_storage.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// As many elements as fit into one cache line of 64 bytes with the header; at
// least one.
template <class T>
inline constexpr std::size_t default_inline_count = sizeof(T) >= 56 ? 1 : 56 / sizeof(T);

// std::vector's interface and guarantees, at least N elements inline. A move
// leaves the source empty. Requires T* as the allocator's pointer.
template <class T, std::size_t N = default_inline_count<T>, class Alloc = std::allocator<T>>
class small_vector : public detail::vector_interface<detail::fast_storage<T, N, Alloc>> {
  using base = detail::vector_interface<detail::fast_storage<T, N, Alloc>>;

 public:
  using base::base;
  // Not defaulted: value-initialization would zero all bytes first.
  constexpr small_vector() noexcept(std::is_nothrow_default_constructible_v<Alloc>) {}
  // Declared here for class template argument deduction.
  constexpr small_vector(std::initializer_list<T> values, const Alloc& alloc = Alloc())
      : base(values, alloc) {}
  constexpr small_vector& operator=(std::initializer_list<T> values) {
    base::operator=(values);
    return *this;
  }
  template <detail::other_vector<detail::fast_storage<T, N, Alloc>> Other>
  constexpr small_vector& operator=(Other&& other) {
    base::operator=(std::forward<Other>(other));
    return *this;
  }
  friend constexpr void swap(small_vector& a, small_vector& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

template <class T, detail::allocator_like Alloc = std::allocator<T>>
small_vector(std::size_t, T, Alloc = Alloc()) -> small_vector<T, default_inline_count<T>, Alloc>;
template <std::input_iterator It, detail::allocator_like Alloc = std::allocator<std::iter_value_t<It>>>
small_vector(It, It, Alloc = Alloc())
    -> small_vector<std::iter_value_t<It>, default_inline_count<std::iter_value_t<It>>, Alloc>;
template <std::ranges::input_range Range,
          detail::allocator_like Alloc = std::allocator<std::ranges::range_value_t<Range>>>
small_vector(from_range_t, Range&&, Alloc = Alloc())
    -> small_vector<std::ranges::range_value_t<Range>,
                    default_inline_count<std::ranges::range_value_t<Range>>, Alloc>;

// The same interface in one 8-byte handle; N up to 127, raised to fill it:
// compact_vector<std::uint8_t, 7> is 8 bytes in all. Each access branches on
// where the elements are. Not usable at compile time.
template <class T, std::size_t N = 0, class Alloc = std::allocator<T>>
class compact_vector : public detail::vector_interface<detail::compact_storage<T, N, Alloc>> {
  using base = detail::vector_interface<detail::compact_storage<T, N, Alloc>>;

 public:
  using base::base;
  compact_vector() noexcept(std::is_nothrow_default_constructible_v<Alloc>) {}  // as small_vector's
  compact_vector(std::initializer_list<T> values, const Alloc& alloc = Alloc()) : base(values, alloc) {}
  compact_vector& operator=(std::initializer_list<T> values) {
    base::operator=(values);
    return *this;
  }
  template <detail::other_vector<detail::compact_storage<T, N, Alloc>> Other>
  compact_vector& operator=(Other&& other) {
    base::operator=(std::forward<Other>(other));
    return *this;
  }
  friend void swap(compact_vector& a, compact_vector& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
};

template <class T, detail::allocator_like Alloc = std::allocator<T>>
compact_vector(std::size_t, T, Alloc = Alloc()) -> compact_vector<T, 0, Alloc>;
template <std::input_iterator It, detail::allocator_like Alloc = std::allocator<std::iter_value_t<It>>>
compact_vector(It, It, Alloc = Alloc()) -> compact_vector<std::iter_value_t<It>, 0, Alloc>;
template <std::ranges::input_range Range,
          detail::allocator_like Alloc = std::allocator<std::ranges::range_value_t<Range>>>
compact_vector(from_range_t, Range&&, Alloc = Alloc())
    -> compact_vector<std::ranges::range_value_t<Range>, 0, Alloc>;

template <class T, std::size_t N, class Tag, class Alloc = std::allocator<T>>
class tracked_small_vector;

// Refers to a small_vector of any N, tracked or not; all operations act on that vector.
// Copies refer to the same vector, and none may outlive it.
template <class T, class Alloc = std::allocator<std::remove_const_t<T>>>
class small_vector_ref : public detail::vector_operations<detail::reference_storage<T, Alloc>> {
  using base = detail::vector_operations<detail::reference_storage<T, Alloc>>;

 public:
  template <std::size_t N>
  small_vector_ref(small_vector<T, N, Alloc>& vector) noexcept : base(vector) {}  // NOLINT: converts
  template <std::size_t N, class Tag>
  small_vector_ref(tracked_small_vector<T, N, Tag, Alloc>& vector) noexcept
      : base(vector) {}  // NOLINT: converts
  small_vector_ref(const small_vector_ref&) = default;
  small_vector_ref& operator=(const small_vector_ref&) = delete;
};

// The read-only form. Converts from small_vector and small_vector_ref.
template <class T, class Alloc>
class small_vector_ref<const T, Alloc> {
  using writable = small_vector_ref<T, Alloc>;

 public:
  using value_type = T;
  using const_iterator = const T*;

  template <std::size_t N>
  small_vector_ref(const small_vector<T, N, Alloc>& vector) noexcept  // NOLINT: converts
      : vector_(const_cast<small_vector<T, N, Alloc>&>(vector)) {}
  template <std::size_t N, class Tag>
  small_vector_ref(const tracked_small_vector<T, N, Tag, Alloc>& vector) noexcept  // NOLINT: converts
      : vector_(const_cast<tracked_small_vector<T, N, Tag, Alloc>&>(vector)) {}
  small_vector_ref(const writable& vector) noexcept : vector_(vector) {}  // NOLINT: converts
  small_vector_ref(const small_vector_ref&) = default;
  small_vector_ref& operator=(const small_vector_ref&) = delete;

  const T* data() const noexcept { return vector_.data(); }
  std::size_t size() const noexcept { return vector_.size(); }
  [[nodiscard]] bool empty() const noexcept { return vector_.empty(); }
  const T* begin() const noexcept { return vector_.begin(); }
  const T* end() const noexcept { return vector_.end(); }
  auto rbegin() const noexcept { return vector_.rbegin(); }
  auto rend() const noexcept { return vector_.rend(); }
  const T& operator[](std::size_t index) const noexcept { return vector_[index]; }
  const T& at(std::size_t index) const { return vector_.at(index); }
  const T& front() const noexcept { return vector_.front(); }
  const T& back() const noexcept { return vector_.back(); }
  friend bool operator==(const small_vector_ref& a, const small_vector_ref& b) {
    return a.vector_ == b.vector_;
  }
  friend auto operator<=>(const small_vector_ref& a, const small_vector_ref& b) requires detail::ordered<T> {
    return a.vector_ <=> b.vector_;
  }

 private:
  const writable vector_;
};

// erase and erase_if for every vector type above.
template <class Storage, class U>
constexpr std::size_t erase(detail::vector_operations<Storage>& vector, const U& value) {
  return detail::erase_matching(vector, [&](const auto& element) { return element == value; });
}
template <class Storage, class Predicate>
constexpr std::size_t erase_if(detail::vector_operations<Storage>& vector, Predicate matches) {
  return detail::erase_matching(vector, std::move(matches));
}
template <class T, class Alloc, class U>
std::size_t erase(small_vector_ref<T, Alloc> vector, const U& value) {
  return detail::erase_matching(vector, [&](const auto& element) { return element == value; });
}
template <class T, class Alloc, class Predicate>
std::size_t erase_if(small_vector_ref<T, Alloc> vector, Predicate matches) {
  return detail::erase_matching(vector, std::move(matches));
}

// No layout holds a pointer into itself, so a vector is relocatable if its elements are.
template <class T, std::size_t N>
struct is_trivially_relocatable<small_vector<T, N>> : is_trivially_relocatable<T> {};
template <class T>
struct is_trivially_relocatable<small_vector<T, 0>> : std::true_type {};
template <class T, std::size_t N>
struct is_trivially_relocatable<compact_vector<T, N>> : is_trivially_relocatable<T> {};
template <class T>
struct is_trivially_relocatable<compact_vector<T, 0>> : std::true_type {};

// A small_vector whose destructor records, under Tag, how large it grew. Use it
// where N is in question, run the program and read statistics().
template <class T, std::size_t N, class Tag, class Alloc>
class tracked_small_vector : public detail::vector_interface<detail::tracked_storage<T, N, Alloc, Tag>> {
  using base = detail::vector_interface<detail::tracked_storage<T, N, Alloc, Tag>>;

 public:
  using base::base;
  tracked_small_vector() noexcept(std::is_nothrow_default_constructible_v<Alloc>) {}
  tracked_small_vector& operator=(std::initializer_list<T> values) {
    base::operator=(values);
    return *this;
  }
  template <detail::other_vector<detail::tracked_storage<T, N, Alloc, Tag>> Other>
  tracked_small_vector& operator=(Other&& other) {
    base::operator=(std::forward<Other>(other));
    return *this;
  }
  static spill_statistics& statistics() noexcept { return detail::spills_of_tag<Tag>; }
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI

// std::erase(v, x) and std::erase_if(v, p), as code written for std::vector calls them. The same
// functions as heapwright's, so that an unqualified call stays unambiguous. The standard
// reserves additions to std; no library has these parameters.
namespace std {  // NOLINT(bugprone-std-namespace-modification,cert-dcl58-cpp)
using heapwright::erase;
using heapwright::erase_if;
}  // namespace std

// Equal vectors have equal hashes, regardless of N and layout.
template <class T, std::size_t N, class Alloc>
requires heapwright::detail::hashable<T>
struct std::hash<heapwright::small_vector<T, N, Alloc>>
    : heapwright::detail::vector_hash<heapwright::small_vector<T, N, Alloc>> {
};
template <class T, std::size_t N, class Alloc>
requires heapwright::detail::hashable<T>
struct std::hash<heapwright::compact_vector<T, N, Alloc>>
    : heapwright::detail::vector_hash<heapwright::compact_vector<T, N, Alloc>> {
};
template <class T, std::size_t N, class Tag, class Alloc>
requires heapwright::detail::hashable<T>
struct std::hash<heapwright::tracked_small_vector<T, N, Tag, Alloc>>
    : heapwright::detail::vector_hash<heapwright::tracked_small_vector<T, N, Tag, Alloc>> {
};
#endif
