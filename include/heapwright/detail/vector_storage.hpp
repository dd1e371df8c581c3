// SPDX-License-Identifier: MIT
// Where a vector's elements lie.
//
// fast_storage (16 bytes with up to 8 bytes inline):
//
//   | size 32 | capacity 32 | heap pointer, or inline elements ... |
//
// The elements are on the heap exactly when capacity > inline capacity: never
// told by an address, so a heap block right behind the object is no trap, and
// the object holds no pointer into itself. At compile time elements are always
// on the heap, and an empty vector made there has capacity 0.
//
// compact_storage (8 bytes with up to 7 inline): docs at the class.
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

namespace heapwright::detail {

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

// N elements, raised to what the padding holds anyway. With N = 0 nothing asks
// for the size of T, which may be incomplete.
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

template <class T, std::size_t N, class Alloc>
class fast_storage {
 public:
  using value_type = T;
  using allocator_type = Alloc;

  constexpr std::size_t size() const noexcept { return header_.size; }
  constexpr std::size_t capacity() const noexcept { return header_.capacity; }
  constexpr bool is_on_heap() const noexcept {
    if (std::is_constant_evaluated()) return header_.capacity != 0;
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
    header_ = {0, static_cast<std::uint32_t>(inline_capacity())};
  }
  // Whether moving all bytes, used or not, is cheaper than asking which are.
  static constexpr bool moves_whole_() noexcept { return sizeof(vector_room<T, N>) <= most_moved_bytes; }
  // The bytes of `other`, which has no elements afterwards; this one had none.
  constexpr void take_bytes_(fast_storage& other) noexcept {
    header_ = other.header_;
    room_ = other.room_;
    other.use_inline_();
  }
  constexpr void swap_bytes_(fast_storage& other) noexcept {
    std::swap(header_, other.header_);
    std::swap(room_, other.room_);
  }
  constexpr bool raise_capacity_() noexcept {
    if (header_.capacity >= inline_capacity()) return false;
    header_.capacity = static_cast<std::uint32_t>(inline_capacity());
    return true;
  }

  vector_header header_;
  vector_room<T, N> room_;
  [[no_unique_address]] Alloc alloc_;

  template <class, class>
  friend class reference_storage;
};

// A fast_storage seen without its N: four words beside it.
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
        alloc_(&vector.alloc_),
        inline_capacity_(static_cast<std::uint32_t>(vector.inline_capacity())) {}

  Alloc& allocator_() const noexcept { return *alloc_; }
  static constexpr std::size_t max_size_() noexcept { return max_vector_size<T>(); }
  T* allocate_(std::size_t count) { return std::allocator_traits<Alloc>::allocate(*alloc_, count); }
  void deallocate_(T* first, std::size_t count) noexcept {
    std::allocator_traits<Alloc>::deallocate(*alloc_, first, count);
  }
  void set_size_(std::size_t size) noexcept { header_->size = static_cast<std::uint32_t>(size); }
  void use_heap_(T* first, std::size_t capacity) noexcept {
    *static_cast<T**>(room_) = first;
    header_->capacity = static_cast<std::uint32_t>(capacity);
  }
  void use_inline_() noexcept { *header_ = {0, inline_capacity_}; }
  bool raise_capacity_() noexcept {
    if (header_->capacity >= inline_capacity_) return false;
    header_->capacity = inline_capacity_;
    return true;
  }

 private:
  vector_header* header_;
  void* room_;
  Alloc* alloc_;
  std::uint32_t inline_capacity_;
};

// One 8-byte handle, tagged by its lowest bit:
//
//   0: the address of a heap block | size 32 | capacity 32 | elements ... |
//   1: | size << 1 | 1 (one byte) | inline elements ...
//
// Little-endian only. At most 127 elements inline.
template <class T, std::size_t N, class Alloc>
class compact_storage {
  static_assert(std::endian::native == std::endian::little, "compact_vector needs a little-endian machine");

  static constexpr std::size_t inline_offset() noexcept {
    if constexpr (N == 0) {
      return 8;
    } else {
      return round_up(1, alignof(T));
    }
  }
  static constexpr std::size_t room_bytes() noexcept {
    if constexpr (N == 0) {
      return 8;
    } else {
      return round_up(inline_offset() + N * sizeof(T), room_alignment());
    }
  }
  static constexpr std::size_t room_alignment() noexcept {
    if constexpr (N == 0) {
      return 8;
    } else {
      return std::max<std::size_t>(alignof(T), 8);
    }
  }

 public:
  using value_type = T;
  using allocator_type = Alloc;

  std::size_t size() const noexcept { return is_on_heap() ? header()->size : tag() >> 1; }
  std::size_t capacity() const noexcept { return is_on_heap() ? header()->capacity : inline_capacity(); }
  bool is_on_heap() const noexcept { return (tag() & 1) == 0; }
  T* data() noexcept { return const_cast<T*>(std::as_const(*this).data()); }
  const T* data() const noexcept {
    if (is_on_heap()) return reinterpret_cast<const T*>(block() + unit_bytes());
    return reinterpret_cast<const T*>(room_ + inline_offset());
  }
  static constexpr std::size_t inline_capacity() noexcept {
    if constexpr (N == 0) {
      return 0;
    } else {
      return std::min<std::size_t>((room_bytes() - inline_offset()) / sizeof(T), 127);
    }
  }

 protected:
  static constexpr std::size_t inline_capacity_or_zero = N;
  static_assert(N <= 127, "compact_vector holds at most 127 elements inline");

  explicit compact_storage(const Alloc& alloc) noexcept : alloc_(alloc) { use_inline_(); }
  compact_storage(const compact_storage&) = delete;
  compact_storage& operator=(const compact_storage&) = delete;

  Alloc& allocator_() noexcept { return alloc_; }
  const Alloc& allocator_() const noexcept { return alloc_; }
  static constexpr std::size_t max_size_() noexcept {
    return std::min<std::size_t>(max_vector_size<T>(), max_vector_size<T>() - 64 / sizeof(T));
  }
  T* allocate_(std::size_t count) {
    unit_allocator units(alloc_);
    unit* block = unit_traits::allocate(units, unit_count(count));
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(block) + unit_bytes());
  }
  void deallocate_(T* first, std::size_t count) noexcept {
    unit_allocator units(alloc_);
    auto* block = reinterpret_cast<std::byte*>(first) - unit_bytes();
    unit_traits::deallocate(units, reinterpret_cast<unit*>(block), unit_count(count));
  }
  void set_size_(std::size_t size) noexcept {
    if (is_on_heap()) {
      header()->size = static_cast<std::uint32_t>(size);
    } else {
      room_[0] = static_cast<std::byte>(size << 1 | 1);
    }
  }
  void use_heap_(T* first, std::size_t capacity) noexcept {
    std::byte* block = reinterpret_cast<std::byte*>(first) - unit_bytes();
    std::memcpy(room_, &block, sizeof(block));
    ::new (static_cast<void*>(block)) vector_header{0, static_cast<std::uint32_t>(capacity)};
  }
  void use_inline_() noexcept { room_[0] = std::byte{1}; }
  static constexpr bool raise_capacity_() noexcept { return false; }
  static constexpr bool moves_whole_() noexcept { return room_bytes() <= most_moved_bytes; }
  void take_bytes_(compact_storage& other) noexcept {
    std::memcpy(room_, other.room_, room_bytes());
    other.use_inline_();
  }
  void swap_bytes_(compact_storage& other) noexcept {
    std::swap_ranges(room_, room_ + room_bytes(), other.room_);
  }

 private:
  // Functions, not constants: T may be incomplete while the class is.
  static constexpr std::size_t unit_bytes() noexcept { return sizeof(unit); }
  template <class U>
  struct aligned_unit {
    alignas(std::max<std::size_t>(alignof(U), 8)) std::byte bytes[std::max<std::size_t>(alignof(U), 8)];
  };
  using unit = aligned_unit<T>;
  using unit_allocator = typename std::allocator_traits<Alloc>::template rebind_alloc<unit>;
  using unit_traits = std::allocator_traits<unit_allocator>;

  static constexpr std::size_t unit_count(std::size_t count) noexcept {
    return 1 + (count * sizeof(T) + sizeof(unit) - 1) / sizeof(unit);
  }
  unsigned tag() const noexcept { return std::to_integer<unsigned>(room_[0]); }
  std::byte* block() const noexcept {
    std::byte* block = nullptr;
    std::memcpy(&block, room_, sizeof(block));
    return block;
  }
  vector_header* header() const noexcept { return reinterpret_cast<vector_header*>(block()); }

  alignas(room_alignment()) std::byte room_[room_bytes()];
  [[no_unique_address]] Alloc alloc_;
};

}  // namespace heapwright::detail
#endif
