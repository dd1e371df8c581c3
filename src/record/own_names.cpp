// SPDX-License-Identifier: MIT
// length: one table of names and their events
#include "record/own_names.hpp"

#include <cstring>

#include "record/own_name_hooks.hpp"

namespace heapwright::record {

namespace {

using Size = std::size_t;
using Block = void*;
using Heap = void*;
using Tag = const void*;
using Text = const char*;
using WideText = const unsigned short*;

constexpr Size product(Size count, Size size) noexcept {
  Size bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

// ---- allocations -----------------------------------------------------------

template <EventKind kind>
Request bytes(Size size) noexcept {
  return {kind, size};
}
template <EventKind kind>
Request bytes_tagged(Size size, Tag) noexcept {
  return {kind, size};
}
template <EventKind kind>
Request bytes_aligned(Size size, Size alignment) noexcept {
  return {kind, size, alignment};
}
template <EventKind kind>
Request bytes_aligned_tagged(Size size, Size alignment, Tag) noexcept {
  return {kind, size, alignment};
}
template <EventKind kind>
Request aligned_bytes(Size alignment, Size size) noexcept {
  return {kind, size, alignment};
}
template <EventKind kind>
Request array(Size count, Size size) noexcept {
  return {kind, product(count, size)};
}
// Aligned at an offset: the start of the block is not aligned.
Request bytes_at(Size size, Size, Size) noexcept { return {EventKind::malloc_, size}; }
Request zeroed_bytes_at(Size size, Size, Size) noexcept { return {EventKind::calloc_, size}; }
Request array_aligned(Size count, Size size, Size alignment) noexcept {
  return {EventKind::aligned_alloc_, product(count, size), alignment};
}
Request array_at(Size count, Size size, Size, Size) noexcept {
  return {EventKind::calloc_, product(count, size)};
}
Request text(Text from) noexcept { return {EventKind::malloc_, from == nullptr ? 0 : std::strlen(from) + 1}; }
Request some_text(Text from, Size most) noexcept {
  return {EventKind::malloc_, from == nullptr ? 0 : strnlen(from, most) + 1};
}
Request wide_text(WideText from) noexcept {
  Size length = 0;
  while (from != nullptr && from[length] != 0) ++length;
  return {EventKind::malloc_, (length + 1) * sizeof *from};
}
// The lowest bits of jemalloc's flags are the logarithm of the alignment.
Request flagged(Size size, int flags) noexcept {
  constexpr int log2_mask = 0x3f;
  constexpr int zero = 0x40;
  if ((flags & log2_mask) != 0) return {EventKind::aligned_alloc_, size, Size{1} << (flags & log2_mask)};
  return {(flags & zero) != 0 ? EventKind::calloc_ : EventKind::malloc_, size};
}

// The same functions on a heap created by the program.
template <auto describe>
struct OnHeap;
template <typename... A, Request (*describe)(A...) noexcept>
struct OnHeap<describe> {
  static Request of(Heap, A... a) noexcept { return describe(a...); }
};
template <typename... A, Change (*describe)(A...) noexcept>
struct OnHeap<describe> {
  static Change of(Heap, A... a) noexcept { return describe(a...); }
};

// ---- reallocations ---------------------------------------------------------

Change resized(Block block, Size size) noexcept { return {block, size}; }
Change resized_array(Block block, Size count, Size size) noexcept { return {block, product(count, size)}; }
Change resized_aligned(Block block, Size size, Size) noexcept { return {block, size}; }
Change resized_at(Block block, Size size, Size, Size) noexcept { return {block, size}; }
Change resized_array_aligned(Block block, Size count, Size size, Size) noexcept {
  return {block, product(count, size)};
}
Change resized_array_at(Block block, Size count, Size size, Size, Size) noexcept {
  return {block, product(count, size)};
}
Change resized_flagged(Block block, Size size, int) noexcept { return {block, size}; }

// ---- releases --------------------------------------------------------------

template <EventKind kind>
Release plain(Block block) noexcept {
  return {kind, block};
}
template <EventKind kind>
Release plain_tagged(Block block, Tag) noexcept {
  return {kind, block};
}
template <EventKind kind>
Release sized(Block block, Size size) noexcept {
  return {kind, block, size};
}
template <EventKind kind>
Release aligned(Block block, Size alignment) noexcept {
  return {kind, block, 0, alignment};
}
template <EventKind kind>
Release aligned_tagged(Block block, Size alignment, Tag) noexcept {
  return {kind, block, 0, alignment};
}
template <EventKind kind>
Release sized_aligned(Block block, Size size, Size alignment) noexcept {
  return {kind, block, size, alignment};
}
Release aligned_bytes_sized(Block block, Size alignment, Size size) noexcept {
  return {EventKind::free_aligned_sized_, block, size, alignment};
}
Release aligned_unnamed(Block block, Size) noexcept { return {EventKind::free_, block}; }
Release flagged_release(Block block, int) noexcept { return {EventKind::free_, block}; }
Release sized_flagged(Block block, Size size, int) noexcept { return {EventKind::free_sized_, block, size}; }

// ---- the names -------------------------------------------------------------

using enum EventKind;

template <Name name, Family family, auto describe>
constexpr OwnName makes = own_name<name, family, Allocation<name, family, describe>>();
template <Name name, Family family, auto describe>
constexpr OwnName makes_or_throws = own_name<name, family, Operator<name, family, describe>>();
template <Name name, Family family, auto describe>
constexpr OwnName changes = own_name<name, family, Reallocation<name, family, describe>>();
template <Name name, Family family, auto describe>
constexpr OwnName changes_or_frees = own_name<name, family, Reallocation<name, family, describe, true>>();
template <Name name, Family family, auto describe>
constexpr OwnName changes_or_throws = own_name<name, family, OperatorReallocation<name, family, describe>>();
template <Name name, Family family, auto describe>
constexpr OwnName releases = own_name<name, family, Deallocation<name, family, describe>>();
template <Name name, Family family>
constexpr OwnName posix_makes = own_name<name, family, PosixMemalign<name, family>>();
template <Name name, Family family>
constexpr OwnName resizes = own_name<name, family, ResizeInPlace<name, family>>();
template <Name name, Family family>
constexpr OwnName unseen = own_name<name, family, Unseen<name>>();

constexpr Family mi = Family::mimalloc;
constexpr Family je = Family::jemalloc;
constexpr Family pj = Family::prefixed_jemalloc;
constexpr Family tc = Family::tcmalloc;

constexpr OwnName table[] = {
    makes<"mi_malloc", mi, &bytes<malloc_>>,
    makes<"mi_malloc_small", mi, &bytes<malloc_>>,
    makes<"mi_zalloc", mi, &bytes<calloc_>>,
    makes<"mi_zalloc_small", mi, &bytes<calloc_>>,
    makes<"mi_calloc", mi, &array<calloc_>>,
    makes<"mi_mallocn", mi, &array<malloc_>>,
    makes<"mi_valloc", mi, &bytes<valloc_>>,
    makes<"mi_pvalloc", mi, &bytes<pvalloc_>>,
    makes<"mi_malloc_aligned", mi, &bytes_aligned<aligned_alloc_>>,
    makes<"mi_zalloc_aligned", mi, &bytes_aligned<aligned_alloc_>>,
    makes<"mi_calloc_aligned", mi, &array_aligned>,
    makes<"mi_memalign", mi, &aligned_bytes<memalign_>>,
    makes<"mi_aligned_alloc", mi, &aligned_bytes<aligned_alloc_>>,
    makes<"mi_malloc_aligned_at", mi, &bytes_at>,
    makes<"mi_zalloc_aligned_at", mi, &zeroed_bytes_at>,
    makes<"mi_calloc_aligned_at", mi, &array_at>,
    makes<"mi_strdup", mi, &text>,
    makes<"mi_strndup", mi, &some_text>,
    makes<"mi_mbsdup", mi, &text>,
    makes<"mi_wcsdup", mi, &wide_text>,
    posix_makes<"mi_posix_memalign", mi>,
    makes_or_throws<"mi_new", mi, &bytes<new_plain>>,
    makes_or_throws<"mi_new_n", mi, &array<new_array>>,
    makes_or_throws<"mi_new_nothrow", mi, &bytes<new_nothrow>>,
    makes_or_throws<"mi_new_aligned", mi, &bytes_aligned<new_aligned>>,
    makes_or_throws<"mi_new_aligned_nothrow", mi, &bytes_aligned<new_aligned_nothrow>>,
    changes_or_throws<"mi_new_realloc", mi, &resized>,
    changes_or_throws<"mi_new_reallocn", mi, &resized_array>,
    changes<"mi_realloc", mi, &resized>,
    changes<"mi_rezalloc", mi, &resized>,
    changes<"mi_expand", mi, &resized>,
    changes<"mi_reallocn", mi, &resized_array>,
    changes<"mi_reallocarray", mi, &resized_array>,
    changes<"mi_recalloc", mi, &resized_array>,
    changes<"mi_realloc_aligned", mi, &resized_aligned>,
    changes<"mi_rezalloc_aligned", mi, &resized_aligned>,
    changes<"mi_realloc_aligned_at", mi, &resized_at>,
    changes<"mi_rezalloc_aligned_at", mi, &resized_at>,
    changes<"mi_recalloc_aligned", mi, &resized_array_aligned>,
    changes<"mi_recalloc_aligned_at", mi, &resized_array_at>,
    changes_or_frees<"mi_reallocf", mi, &resized>,
    releases<"mi_free", mi, &plain<free_>>,
    releases<"mi_cfree", mi, &plain<free_>>,
    releases<"mi_free_size", mi, &sized<free_sized_>>,
    releases<"mi_free_aligned", mi, &aligned_unnamed>,
    releases<"mi_free_size_aligned", mi, &sized_aligned<free_aligned_sized_>>,

    makes<"mi_heap_malloc", mi, &OnHeap<&bytes<malloc_>>::of>,
    makes<"mi_heap_malloc_small", mi, &OnHeap<&bytes<malloc_>>::of>,
    makes<"mi_heap_zalloc", mi, &OnHeap<&bytes<calloc_>>::of>,
    makes<"mi_heap_calloc", mi, &OnHeap<&array<calloc_>>::of>,
    makes<"mi_heap_mallocn", mi, &OnHeap<&array<malloc_>>::of>,
    makes<"mi_heap_malloc_aligned", mi, &OnHeap<&bytes_aligned<aligned_alloc_>>::of>,
    makes<"mi_heap_zalloc_aligned", mi, &OnHeap<&bytes_aligned<aligned_alloc_>>::of>,
    makes<"mi_heap_calloc_aligned", mi, &OnHeap<&array_aligned>::of>,
    makes<"mi_heap_malloc_aligned_at", mi, &OnHeap<&bytes_at>::of>,
    makes<"mi_heap_zalloc_aligned_at", mi, &OnHeap<&zeroed_bytes_at>::of>,
    makes<"mi_heap_calloc_aligned_at", mi, &OnHeap<&array_at>::of>,
    makes<"mi_heap_strdup", mi, &OnHeap<&text>::of>,
    makes<"mi_heap_strndup", mi, &OnHeap<&some_text>::of>,
    makes_or_throws<"mi_heap_alloc_new", mi, &OnHeap<&bytes<new_plain>>::of>,
    makes_or_throws<"mi_heap_alloc_new_n", mi, &OnHeap<&array<new_array>>::of>,
    changes<"mi_heap_realloc", mi, &OnHeap<&resized>::of>,
    changes<"mi_heap_rezalloc", mi, &OnHeap<&resized>::of>,
    changes<"mi_heap_reallocn", mi, &OnHeap<&resized_array>::of>,
    changes<"mi_heap_recalloc", mi, &OnHeap<&resized_array>::of>,
    changes<"mi_heap_realloc_aligned", mi, &OnHeap<&resized_aligned>::of>,
    changes<"mi_heap_rezalloc_aligned", mi, &OnHeap<&resized_aligned>::of>,
    changes<"mi_heap_realloc_aligned_at", mi, &OnHeap<&resized_at>::of>,
    changes<"mi_heap_rezalloc_aligned_at", mi, &OnHeap<&resized_at>::of>,
    changes<"mi_heap_recalloc_aligned", mi, &OnHeap<&resized_array_aligned>::of>,
    changes<"mi_heap_recalloc_aligned_at", mi, &OnHeap<&resized_array_at>::of>,
    changes_or_frees<"mi_heap_reallocf", mi, &OnHeap<&resized>::of>,
    // Frees every block of the heap at once.
    unseen<"mi_heap_destroy", mi>,
    unseen<"mi_heap_realpath", mi>,
    unseen<"mi_realpath", mi>,

    unseen<"mi_reallocarr", mi>,
    unseen<"mi_dupenv_s", mi>,
    unseen<"mi_wdupenv_s", mi>,
    unseen<"mi_theap_malloc", mi>,
    unseen<"mi_theap_malloc_small", mi>,
    unseen<"mi_theap_malloc_aligned", mi>,
    unseen<"mi_theap_zalloc", mi>,
    unseen<"mi_theap_zalloc_small", mi>,
    unseen<"mi_theap_calloc", mi>,
    unseen<"mi_theap_realloc", mi>,

    makes<"mallocx", je, &flagged>,
    changes<"rallocx", je, &resized_flagged>,
    resizes<"xallocx", je>,
    releases<"dallocx", je, &flagged_release>,
    releases<"sdallocx", je, &sized_flagged>,

    makes<"je_mallocx", pj, &flagged>,
    changes<"je_rallocx", pj, &resized_flagged>,
    resizes<"je_xallocx", pj>,
    releases<"je_dallocx", pj, &flagged_release>,
    releases<"je_sdallocx", pj, &sized_flagged>,
    makes<"je_malloc", pj, &bytes<malloc_>>,
    makes<"je_calloc", pj, &array<calloc_>>,
    makes<"je_memalign", pj, &aligned_bytes<memalign_>>,
    makes<"je_aligned_alloc", pj, &aligned_bytes<aligned_alloc_>>,
    makes<"je_valloc", pj, &bytes<valloc_>>,
    makes<"je_pvalloc", pj, &bytes<pvalloc_>>,
    posix_makes<"je_posix_memalign", pj>,
    changes<"je_realloc", pj, &resized>,
    releases<"je_free", pj, &plain<free_>>,
    releases<"je_free_sized", pj, &sized<free_sized_>>,
    releases<"je_free_aligned_sized", pj, &aligned_bytes_sized>,

    makes<"tc_malloc", tc, &bytes<malloc_>>,
    makes<"tc_malloc_skip_new_handler", tc, &bytes<malloc_>>,
    makes<"tc_calloc", tc, &array<calloc_>>,
    makes<"tc_memalign", tc, &aligned_bytes<memalign_>>,
    makes<"tc_valloc", tc, &bytes<valloc_>>,
    makes<"tc_pvalloc", tc, &bytes<pvalloc_>>,
    posix_makes<"tc_posix_memalign", tc>,
    changes<"tc_realloc", tc, &resized>,
    releases<"tc_free", tc, &plain<free_>>,
    releases<"tc_cfree", tc, &plain<free_>>,
    releases<"tc_free_sized", tc, &sized<free_sized_>>,
    makes_or_throws<"tc_new", tc, &bytes<new_plain>>,
    makes_or_throws<"tc_newarray", tc, &bytes<new_array>>,
    makes_or_throws<"tc_new_nothrow", tc, &bytes_tagged<new_nothrow>>,
    makes_or_throws<"tc_newarray_nothrow", tc, &bytes_tagged<new_array_nothrow>>,
    makes_or_throws<"tc_new_aligned", tc, &bytes_aligned<new_aligned>>,
    makes_or_throws<"tc_newarray_aligned", tc, &bytes_aligned<new_array_aligned>>,
    makes_or_throws<"tc_new_aligned_nothrow", tc, &bytes_aligned_tagged<new_aligned_nothrow>>,
    makes_or_throws<"tc_newarray_aligned_nothrow", tc, &bytes_aligned_tagged<new_array_aligned_nothrow>>,
    releases<"tc_delete", tc, &plain<delete_plain>>,
    releases<"tc_deletearray", tc, &plain<delete_array>>,
    releases<"tc_delete_sized", tc, &sized<delete_sized>>,
    releases<"tc_deletearray_sized", tc, &sized<delete_array_sized>>,
    releases<"tc_delete_aligned", tc, &aligned<delete_aligned>>,
    releases<"tc_deletearray_aligned", tc, &aligned<delete_array_aligned>>,
    releases<"tc_delete_sized_aligned", tc, &sized_aligned<delete_sized_aligned>>,
    releases<"tc_deletearray_sized_aligned", tc, &sized_aligned<delete_array_sized_aligned>>,
    releases<"tc_delete_nothrow", tc, &plain_tagged<delete_nothrow>>,
    releases<"tc_deletearray_nothrow", tc, &plain_tagged<delete_array_nothrow>>,
    releases<"tc_delete_aligned_nothrow", tc, &aligned_tagged<delete_aligned_nothrow>>,
    releases<"tc_deletearray_aligned_nothrow", tc, &aligned_tagged<delete_array_aligned_nothrow>>,
};

}  // namespace

std::span<const OwnName> own_names() noexcept { return table; }

}  // namespace heapwright::record
