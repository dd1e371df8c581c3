// SPDX-License-Identifier: MIT
#include "trace/kind_names.hpp"

namespace heapwright::trace {

namespace {

std::string_view name_of_allocation(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::malloc_:
      return "malloc";
    case EventKind::calloc_:
      return "calloc";
    case EventKind::realloc_:
      return "realloc";
    case EventKind::reallocarray_:
      return "reallocarray";
    case EventKind::posix_memalign_:
      return "posix_memalign";
    case EventKind::aligned_alloc_:
      return "aligned_alloc";
    case EventKind::memalign_:
      return "memalign";
    case EventKind::valloc_:
      return "valloc";
    case EventKind::pvalloc_:
      return "pvalloc";
    case EventKind::new_plain:
      return "operator new";
    case EventKind::new_array:
      return "operator new[]";
    case EventKind::new_nothrow:
      return "operator new(nothrow)";
    case EventKind::new_array_nothrow:
      return "operator new[](nothrow)";
    case EventKind::new_aligned:
      return "operator new(align)";
    case EventKind::new_array_aligned:
      return "operator new[](align)";
    case EventKind::new_aligned_nothrow:
      return "operator new(align, nothrow)";
    case EventKind::new_array_aligned_nothrow:
      return "operator new[](align, nothrow)";
    default:
      return "?";
  }
}

std::string_view name_of_release(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::free_:
      return "free";
    case EventKind::free_sized_:
      return "free_sized";
    case EventKind::free_aligned_sized_:
      return "free_aligned_sized";
    case EventKind::delete_plain:
      return "operator delete";
    case EventKind::delete_array:
      return "operator delete[]";
    case EventKind::delete_sized:
      return "operator delete(size)";
    case EventKind::delete_array_sized:
      return "operator delete[](size)";
    case EventKind::delete_aligned:
      return "operator delete(align)";
    case EventKind::delete_array_aligned:
      return "operator delete[](align)";
    case EventKind::delete_sized_aligned:
      return "operator delete(size, align)";
    case EventKind::delete_array_sized_aligned:
      return "operator delete[](size, align)";
    case EventKind::delete_nothrow:
      return "operator delete(nothrow)";
    case EventKind::delete_array_nothrow:
      return "operator delete[](nothrow)";
    case EventKind::delete_aligned_nothrow:
      return "operator delete(align, nothrow)";
    case EventKind::delete_array_aligned_nothrow:
      return "operator delete[](align, nothrow)";
    default:
      return "?";
  }
}

std::string_view name_of_annotation(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::phase_begin:
      return "phase_begin";
    case EventKind::phase_end:
      return "phase_end";
    case EventKind::pool_create:
      return "pool_create";
    case EventKind::pool_destroy:
      return "pool_destroy";
    case EventKind::pool_allocate:
      return "pool_allocate";
    case EventKind::pool_free:
      return "pool_free";
    case EventKind::region_named:
      return "region_named";
    case EventKind::annotation_text:
      return "annotation_text";
    default:
      return "?";
  }
}

}  // namespace

std::string_view name_of(EventKind kind) noexcept {
  if (is_allocation(kind)) return name_of_allocation(kind);
  if (is_release(kind)) return name_of_release(kind);
  if (is_annotation(kind)) return name_of_annotation(kind);
  switch (kind) {
    case EventKind::malloc_usable_size_:
      return "malloc_usable_size";
    case EventKind::malloc_trim_:
      return "malloc_trim";
    case EventKind::mallopt_:
      return "mallopt";
    case EventKind::mmap_:
      return "mmap";
    case EventKind::munmap_:
      return "munmap";
    case EventKind::mremap_:
      return "mremap";
    case EventKind::brk_:
      return "brk";
    case EventKind::sbrk_:
      return "sbrk";
    case EventKind::mprotect_:
      return "mprotect";
    case EventKind::madvise_:
      return "madvise";
    default:
      return "?";
  }
}

}  // namespace heapwright::trace
