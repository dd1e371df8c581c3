// SPDX-License-Identifier: MIT
// The layout of compact_vector.
#ifndef HEAPWRIGHT_DETAIL_COMPACT_STORAGE_HPP
#define HEAPWRIGHT_DETAIL_COMPACT_STORAGE_HPP

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/vector_storage.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

// One 8-byte handle, tagged by its lowest bit:
//
//   0: the address of a heap block | size 32 | capacity 32 | elements ... |
//   1: | size << 1 | 1 (one byte) | inline elements ...
//
// Little-endian only. At most 127 elements inline.
template <class T, std::size_t N, class Alloc>
class compact_storage {
  static_assert(std::endian::native == std::endian::little, "compact_vector needs a little-endian machine");
  static_assert(holds_plain_pointers<Alloc, T>, "compact_vector needs an allocator of T whose pointer is T*");

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
  using buffer_layout_ = struct compact_layout;

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
  T* data_with_room_(std::size_t count) noexcept { return count == capacity() ? nullptr : data(); }
  static constexpr bool moves_whole_() noexcept { return room_bytes() <= most_moved_bytes; }
  void take_bytes_(compact_storage& other) noexcept {
    std::memcpy(room_, other.room_, room_bytes());
    other.use_inline_();
  }
  void swap_bytes_(compact_storage& other) noexcept {
    std::swap_ranges(room_, room_ + room_bytes(), other.room_);
  }

 private:
  // Functions, not constants: T may be incomplete in the class.
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

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
