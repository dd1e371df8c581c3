// SPDX-License-Identifier: MIT
// The blocks and destructor notes of an arena.
#ifndef HEAPWRIGHT_DETAIL_ARENA_BLOCKS_HPP
#define HEAPWRIGHT_DETAIL_ARENA_BLOCKS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/decayed_histogram.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

struct alignas(std::max_align_t) arena_block {
  arena_block* next;
  std::size_t bytes;             // including this header
  std::size_t spent_before = 0;  // for a block in use: the bytes of the full blocks before it,
  std::size_t tail_before = 0;   // and how many of those are unused at block ends
  std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  std::byte* end() noexcept { return reinterpret_cast<std::byte*>(this) + bytes; }
};

inline bool lies_in(arena_block* list, const std::byte* at) noexcept {
  for (; list != nullptr; list = list->next) {
    if (at >= list->begin() && at < list->end()) return true;
  }
  return false;
}

inline constexpr std::size_t small_block_bytes = 64 * 1024;

// The size of a new block after one of `last` bytes (0: none). Doubles, then
// triples: with doubling, all blocks together are twice the largest, which is where
// glibc returns them to the kernel each time that an arena ends. No more than keeps
// what recent cycles wanted below the bound of reset().
inline std::size_t grown_block_bytes(std::size_t last, std::size_t retained, std::size_t wanted) noexcept {
  const std::size_t grown = last * (last < small_block_bytes ? 2 : 3);
  const std::size_t kept = 2 * wanted - wanted / 16;
  return retained < kept ? std::min(grown, kept - retained) : grown;
}

// The link after the fewest blocks that, with the large ones, hold the wanted bytes;
// before the last of them if a smaller one can take its place.
inline arena_block** first_not_wanted(arena_block** first, std::size_t retained, std::size_t wanted,
                                      std::size_t first_bytes) noexcept {
  std::size_t kept = retained;
  for (arena_block* block = *first; block != nullptr; block = block->next) kept -= block->bytes;
  arena_block** link = first;
  for (; *link != nullptr && kept < wanted; link = &(*link)->next) {
    kept += (*link)->bytes;
    const bool can_be_smaller = link != first && (*link)->bytes > std::max(small_block_bytes, first_bytes);
    if (can_be_smaller && kept > 2 * wanted) break;
  }
  return link;
}

// Dedicated blocks of large requests. Spare blocks are listed by size class:
// blocks are rounded up to classes of 12.5 %, so the first one of a class fits.
struct large_blocks {
  arena_block* in_use = nullptr;
  std::size_t in_use_bytes = 0;
  std::size_t largest_spare = 0;  // classes above it have no spare block
  std::array<arena_block*, size_class_count> spare{};

  // 14 TiB. The classes above have no next class, or no upper bound.
  static constexpr std::size_t most_bytes = size_class_lower(size_class_count - 2);

  // Requires at most most_bytes.
  static std::size_t class_for(std::size_t bytes) noexcept {
    const std::size_t index = size_class_of(bytes);
    return size_class_lower(index) < bytes ? index + 1 : index;
  }
  void add_spare(arena_block* block) noexcept {
    const std::size_t index = size_class_of(block->bytes);
    block->next = std::exchange(spare[index], block);
    largest_spare = std::max(largest_spare, index);
  }
  // Of the class or the next one: at most a quarter too large.
  arena_block* take_spare(std::size_t index) noexcept {
    if (spare[index] == nullptr && spare[++index] == nullptr) return nullptr;
    return std::exchange(spare[index], spare[index]->next);
  }
  arena_block* take_largest_spare() noexcept {
    while (spare[largest_spare] == nullptr) {
      if (largest_spare == 0) return nullptr;
      --largest_spare;
    }
    return std::exchange(spare[largest_spare], spare[largest_spare]->next);
  }
};

struct destructor_kind {
  void (*destroy)(void* first, void* end) noexcept;
  const char* function_name;  // contains the type's name
};

// Of adjacent objects of one type.
struct destructor_note {
  destructor_note* next;
  const destructor_kind* kind;
  void* first;
  void* end;
};

// Uses braces for aggregates, because some compilers initialize them only so.
template <class T, class... Args>
T* construct_in(void* where, Args&&... args) {
  if constexpr (std::is_constructible_v<T, Args...>) {
    return ::new (where) T(std::forward<Args>(args)...);
  } else {
    return ::new (where) T{std::forward<Args>(args)...};
  }
}

template <class T>
void destroy_objects(void* first, void* end) noexcept {
  for (T* object = static_cast<T*>(end); object != first;) std::destroy_at(--object);
}

template <class T>
constexpr const char* name_of_type() noexcept {
  return __PRETTY_FUNCTION__;
}

template <class T>
inline constexpr destructor_kind destructor_kind_of{&destroy_objects<T>, name_of_type<T>()};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
