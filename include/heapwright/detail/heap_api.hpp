// SPDX-License-Identifier: MIT
// Private heaps of heapwright's allocator (heap.h), as weak functions: all four are
// null unless that allocator is linked or preloaded.
#ifndef HEAPWRIGHT_DETAIL_HEAP_API_HPP
#define HEAPWRIGHT_DETAIL_HEAP_API_HPP

#include <cstddef>

#include "heapwright/detail/check.hpp"

extern "C" {
struct heapwright_heap;
// `name` must outlive the heap. Null when out of memory.
[[gnu::weak]] heapwright_heap* heapwright_heap_create(const char* name) noexcept;
// Thread-safe. Null when out of memory; the alignment is a power of two.
[[gnu::weak]] void* heapwright_heap_allocate(heapwright_heap* heap, std::size_t bytes,
                                             std::size_t alignment) noexcept;
// Thread-safe.
[[gnu::weak]] void heapwright_heap_free(heapwright_heap* heap, void* block) noexcept;
// Frees all blocks at once.
[[gnu::weak]] void heapwright_heap_destroy(heapwright_heap* heap) noexcept;
}

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

inline bool has_heap_api() noexcept { return heapwright_heap_create != nullptr; }

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail

#endif
