// SPDX-License-Identifier: MIT
// The columns of an event chunk. A column of codes holds one byte for each event it concerns; its `_wide`
// partner holds, as varints and in the same order, values that did not fit into a code. docs/trace-format.md
// explains the codes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/event_kind.hpp"

namespace heapwright::trace {

// Part of the format: append only. A reader skips columns it does not know.
enum class ColumnId : std::uint8_t {
  kind = 1,
  begin = 2,
  begin_wide = 3,
  duration = 4,
  duration_wide = 5,
  stack = 6,
  stack_wide = 7,
  size = 8,
  size_wide = 9,
  usable = 10,
  usable_wide = 11,
  stated_size = 12,    // size of references
  stated_usable = 13,  // usable of references
  made_address = 14,
  made_address_wide = 15,
  reference = 16,  // address of references, old_address
  reference_wide = 17,
  alignment = 18,
  kernel = 19,
};
inline constexpr std::size_t column_limit = 20;

// A column of codes is omitted if all are 0; a wide one only if empty.
constexpr bool is_wide(ColumnId id) noexcept {
  switch (id) {
    case ColumnId::begin_wide:
    case ColumnId::duration_wide:
    case ColumnId::stack_wide:
    case ColumnId::size_wide:
    case ColumnId::usable_wide:
    case ColumnId::made_address_wide:
    case ColumnId::reference_wide:
    case ColumnId::kernel:
      return true;
    default:
      return false;
  }
}

// An event either refers to an existing block (a reference) or makes one. realloc and mremap do both:
// old_address is coded first, as a reference.
constexpr bool is_reference(EventKind kind) noexcept {
  return is_release(kind) || kind == EventKind::malloc_usable_size_ || kind == EventKind::munmap_;
}
constexpr bool has_old_address(EventKind kind) noexcept {
  return is_realloc(kind) || kind == EventKind::mremap_;
}
// True for references that leave the block live.
constexpr bool keeps_block(EventKind kind) noexcept { return kind == EventKind::malloc_usable_size_; }

// True for releases whose caller states the size.
constexpr bool has_stated_size(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::free_sized_:
    case EventKind::free_aligned_sized_:
    case EventKind::delete_sized:
    case EventKind::delete_array_sized:
    case EventKind::delete_sized_aligned:
    case EventKind::delete_array_sized_aligned:
      return true;
    default:
      return false;
  }
}

}  // namespace heapwright::trace
