// SPDX-License-Identifier: MIT
// The heap entry points by number. Separate from event.hpp because the recorder, which may use no library,
// needs nothing else of the trace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::trace {

// Which entry point was called. The numbers are part of the trace format
// (docs/trace-format.md): append only, never renumber.
enum class EventKind : std::uint8_t {
  none = 0,
  malloc_ = 1,
  calloc_ = 2,
  realloc_ = 3,
  reallocarray_ = 4,
  posix_memalign_ = 5,
  aligned_alloc_ = 6,
  memalign_ = 7,
  valloc_ = 8,
  pvalloc_ = 9,
  // operator new: plain/array x throwing/nothrow x default/explicit alignment
  new_plain = 10,
  new_array = 11,
  new_nothrow = 12,
  new_array_nothrow = 13,
  new_aligned = 14,
  new_array_aligned = 15,
  new_aligned_nothrow = 16,
  new_array_aligned_nothrow = 17,

  free_ = 32,
  free_sized_ = 33,
  free_aligned_sized_ = 34,
  delete_plain = 35,
  delete_array = 36,
  delete_sized = 37,
  delete_array_sized = 38,
  delete_aligned = 39,
  delete_array_aligned = 40,
  delete_sized_aligned = 41,
  delete_array_sized_aligned = 42,
  delete_nothrow = 43,
  delete_array_nothrow = 44,
  delete_aligned_nothrow = 45,
  delete_array_aligned_nothrow = 46,

  malloc_usable_size_ = 64,
  malloc_trim_ = 65,
  mallopt_ = 66,

  mmap_ = 80,
  munmap_ = 81,
  mremap_ = 82,
  brk_ = 83,
  sbrk_ = 84,
  mprotect_ = 85,
  madvise_ = 86,

  // Annotations by the program (include/heapwright/annotate.h).
  phase_begin = 88,
  phase_end = 89,
  pool_create = 90,
  pool_destroy = 91,
  pool_allocate = 92,
  pool_free = 93,
  region_named = 94,
  annotation_text = 95,
};

inline constexpr std::size_t event_kind_limit = 96;

// True for every kind that returns a heap block (including realloc).
constexpr bool is_allocation(EventKind kind) noexcept {
  const auto value = static_cast<std::uint8_t>(kind);
  return value >= 1 && value < 32;
}

// True for every kind that frees a heap block (excluding realloc).
constexpr bool is_release(EventKind kind) noexcept {
  const auto value = static_cast<std::uint8_t>(kind);
  return value >= 32 && value < 64;
}

// True for annotations, which are not heap calls.
constexpr bool is_annotation(EventKind kind) noexcept {
  return kind >= EventKind::phase_begin && kind <= EventKind::annotation_text;
}

constexpr bool is_operator_new(EventKind kind) noexcept {
  return kind >= EventKind::new_plain && kind <= EventKind::new_array_aligned_nothrow;
}

// True for calls that change a range of the address space.
constexpr bool changes_mappings(EventKind kind) noexcept {
  return (kind >= EventKind::mmap_ && kind <= EventKind::mremap_) || kind == EventKind::mprotect_ ||
         kind == EventKind::madvise_;
}

constexpr bool is_realloc(EventKind kind) noexcept {
  return kind == EventKind::realloc_ || kind == EventKind::reallocarray_;
}

// True for kinds with a meaningful alignment column.
constexpr bool has_alignment(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::posix_memalign_:
    case EventKind::aligned_alloc_:
    case EventKind::memalign_:
    case EventKind::new_aligned:
    case EventKind::new_array_aligned:
    case EventKind::new_aligned_nothrow:
    case EventKind::new_array_aligned_nothrow:
    case EventKind::free_aligned_sized_:
    case EventKind::delete_aligned:
    case EventKind::delete_array_aligned:
    case EventKind::delete_sized_aligned:
    case EventKind::delete_array_sized_aligned:
    case EventKind::delete_aligned_nothrow:
    case EventKind::delete_array_aligned_nothrow:
      return true;
    default:
      return false;
  }
}

}  // namespace heapwright::trace
