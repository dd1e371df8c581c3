// SPDX-License-Identifier: MIT
// The fast layout of a vector, and a reference to it. The compact layout is in
// compact_storage.hpp.
//
// fast_storage (16 bytes with up to 8 bytes inline):
//
//   | size 32 | capacity 32 | heap pointer, or inline elements ... |
//
// The elements are on the heap exactly when capacity > inline capacity. No address
// decides this, so a heap block right behind the object causes no confusion, and the
// object holds no pointer into itself. At compile time elements are always on the
// heap, and the pointer decides; an empty vector made there is inline at run time.
#ifndef HEAPWRIGHT_DETAIL_VECTOR_STORAGE_HPP
#define HEAPWRIGHT_DETAIL_VECTOR_STORAGE_HPP

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) noexcept {
  return (value + multiple - 1) / multiple * multiple;
}

inline constexpr std::size_t most_moved_bytes = 64;

struct vector_header {
  std::uint32_t size = 0;
  std::uint32_t capacity = 0;
};

template <class T>
constexpr std::size_t max_vector_size() noexcept {
  return std::min<std::size_t>(
      std::numeric_limits<std::uint32_t>::max(),
      static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T));
}

// N elements, raised to what the padding can hold. With N = 0 the size of T is not
// used: T may be incomplete.
template <class T, std::size_t N>
union vector_room {
  static constexpr std::size_t alignment = std::max(alignof(T), alignof(T*));
  static constexpr std::size_t bytes = round_up(std::max(N * sizeof(T), sizeof(T*)), alignment);
  static constexpr std::size_t inline_capacity = bytes / sizeof(T);
  T* heap;
  alignas(alignment) std::byte elements[bytes];
  constexpr vector_room() noexcept : heap(nullptr) {}
};
template <class T>
union vector_room<T, 0> {
  static constexpr std::size_t inline_capacity = 0;
  T* heap;
  constexpr vector_room() noexcept : heap(nullptr) {}
};

template <class Alloc, class T>
inline constexpr bool holds_plain_pointers =
    std::is_same_v<typename std::allocator_traits<Alloc>::pointer, T*>;

template <class T, std::size_t N, class Alloc>
class fast_storage {
  static_assert(holds_plain_pointers<Alloc, T>, "small_vector needs an allocator of T whose pointer is T*");

 public:
  using value_type = T;
  using allocator_type = Alloc;
  using buffer_layout_ = struct fast_layout;

  constexpr std::size_t size() const noexcept { return header_.size; }
  constexpr std::size_t capacity() const noexcept {
    if (std::is_constant_evaluated() && !is_on_heap()) return 0;
    return header_.capacity;
  }
  constexpr bool is_on_heap() const noexcept {
    if (std::is_constant_evaluated()) return room_.heap != nullptr;
    return header_.capacity > inline_capacity();
  }
  constexpr T* data() noexcept { return const_cast<T*>(std::as_const(*this).data()); }
  constexpr const T* data() const noexcept {
    if constexpr (N != 0) {
      if (!std::is_constant_evaluated() && header_.capacity <= inline_capacity()) {
        return reinterpret_cast<const T*>(room_.elements);
      }
    }
    return room_.heap;
  }
  static constexpr std::size_t inline_capacity() noexcept {
    if (std::is_constant_evaluated()) return 0;
    return vector_room<T, N>::inline_capacity;
  }

 protected:
  static constexpr std::size_t inline_capacity_or_zero = N;

  constexpr explicit fast_storage(const Alloc& alloc) noexcept : alloc_(alloc) { use_inline_(); }
  fast_storage(const fast_storage&) = delete;
  fast_storage& operator=(const fast_storage&) = delete;
  constexpr ~fast_storage() = default;

  constexpr Alloc& allocator_() noexcept { return alloc_; }
  constexpr const Alloc& allocator_() const noexcept { return alloc_; }
  static constexpr std::size_t max_size_() noexcept { return max_vector_size<T>(); }
  constexpr T* allocate_(std::size_t count) { return std::allocator_traits<Alloc>::allocate(alloc_, count); }
  constexpr void deallocate_(T* first, std::size_t count) noexcept {
    std::allocator_traits<Alloc>::deallocate(alloc_, first, count);
  }
  constexpr void set_size_(std::size_t size) noexcept { header_.size = static_cast<std::uint32_t>(size); }
  constexpr void use_heap_(T* first, std::size_t capacity) noexcept {
    room_.heap = first;
    header_.capacity = static_cast<std::uint32_t>(capacity);
  }
  constexpr void use_inline_() noexcept {
    if (N == 0 || std::is_constant_evaluated()) room_.heap = nullptr;
    header_ = {0, static_cast<std::uint32_t>(vector_room<T, N>::inline_capacity)};
  }
  // Whether moving all bytes is cheaper than checking which ones are used.
  static constexpr bool moves_whole_() noexcept { return sizeof(vector_room<T, N>) <= most_moved_bytes; }
  // Takes the bytes of `other`, which is empty afterwards. Requires an empty vector.
  constexpr void take_bytes_(fast_storage& other) noexcept {
    header_ = other.header_;
    room_ = other.room_;
    other.use_inline_();
  }
  constexpr void swap_bytes_(fast_storage& other) noexcept {
    std::swap(header_, other.header_);
    std::swap(room_, other.room_);
  }
  // The first of the `count` elements, or null if there is no room for another. The
  // first __builtin_unreachable() lets the compiler drop the heap path from loops that
  // fill new vectors. The 32-bit comparison saves each push an instruction. Always
  // inlined: where GCC shares parts between different N it warns of reads past an object.
  [[gnu::always_inline]] constexpr T* data_with_room_(std::size_t count) noexcept {
    if (static_cast<std::uint32_t>(count) == static_cast<std::uint32_t>(capacity())) [[unlikely]] {
      if (count < inline_capacity()) __builtin_unreachable();
      return nullptr;
    }
    T* const first = data();
    if (first == nullptr) __builtin_unreachable();  // removes the callers' comparison with null
    return first;
  }

  vector_header header_;
  vector_room<T, N> room_;
  [[no_unique_address]] Alloc alloc_;

  template <class, class>
  friend class reference_storage;
};

template <class T, std::size_t N, class Alloc, class Tag>
class tracked_storage;

// A reference to a fast_storage of any N, in five words.
template <class T, class Alloc>
class reference_storage {
 public:
  using value_type = T;
  using allocator_type = Alloc;

  std::size_t size() const noexcept { return header_->size; }
  std::size_t capacity() const noexcept { return header_->capacity; }
  bool is_on_heap() const noexcept { return header_->capacity > inline_capacity_; }
  T* data() noexcept { return is_on_heap() ? *static_cast<T**>(room_) : static_cast<T*>(room_); }
  const T* data() const noexcept { return const_cast<reference_storage*>(this)->data(); }
  std::size_t inline_capacity() const noexcept { return inline_capacity_; }

 protected:
  template <std::size_t N>
  explicit reference_storage(fast_storage<T, N, Alloc>& vector) noexcept
      : header_(&vector.header_),
        room_(&vector.room_),
        alloc_(std::addressof(vector.alloc_)),
        inline_capacity_(static_cast<std::uint32_t>(vector.inline_capacity())) {}
  template <std::size_t N, class Tag>
  explicit reference_storage(tracked_storage<T, N, Alloc, Tag>& vector) noexcept
      : reference_storage(static_cast<fast_storage<T, N, Alloc>&>(vector)) {
    peak_ = &vector.peak_;
  }

  Alloc& allocator_() const noexcept { return *alloc_; }
  static constexpr std::size_t max_size_() noexcept { return max_vector_size<T>(); }
  T* allocate_(std::size_t count) { return std::allocator_traits<Alloc>::allocate(*alloc_, count); }
  void deallocate_(T* first, std::size_t count) noexcept {
    std::allocator_traits<Alloc>::deallocate(*alloc_, first, count);
  }
  void set_size_(std::size_t size) noexcept {
    header_->size = static_cast<std::uint32_t>(size);
    if (peak_ != nullptr) [[unlikely]] {
      *peak_ = std::max(*peak_, header_->size);
    }
  }
  void use_heap_(T* first, std::size_t capacity) noexcept {
    *static_cast<T**>(room_) = first;
    header_->capacity = static_cast<std::uint32_t>(capacity);
  }
  void use_inline_() noexcept { *header_ = {0, inline_capacity_}; }
  T* data_with_room_(std::size_t count) noexcept { return count == capacity() ? nullptr : data(); }

 private:
  vector_header* header_;
  void* room_;
  Alloc* alloc_;
  std::uint32_t* peak_ = nullptr;  // for a tracked vector
  std::uint32_t inline_capacity_;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
