// SPDX-License-Identifier: MIT
// The heaps of heapwright's own allocator, as the parts see them. Weak: null
// unless that allocator is linked or preloaded, then all four are there.
#ifndef HEAPWRIGHT_DETAIL_HEAP_API_HPP
#define HEAPWRIGHT_DETAIL_HEAP_API_HPP

#include <cstddef>

#include "heapwright/detail/check.hpp"

extern "C" {
struct heapwright_heap;
// A heap for blocks of one kind; `name` outlives it. Null when it has no memory.
[[gnu::weak]] heapwright_heap* heapwright_heap_create(const char* name) noexcept;
// Any thread. Null when there is no memory; the alignment is a power of two.
[[gnu::weak]] void* heapwright_heap_allocate(heapwright_heap* heap, std::size_t bytes,
                                             std::size_t alignment) noexcept;
// Any thread.
[[gnu::weak]] void heapwright_heap_free(heapwright_heap* heap, void* block) noexcept;
// Returns all blocks at once.
[[gnu::weak]] void heapwright_heap_destroy(heapwright_heap* heap) noexcept;
}

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

inline bool has_heap_api() noexcept { return heapwright_heap_create != nullptr; }

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail

#endif
