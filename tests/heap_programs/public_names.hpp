// SPDX-License-Identifier: MIT
// What the C library of the control run does not have: C23's sized frees and
// the functions of heap.h. Programs run with and without the heap preloaded.
#pragma once

#include <cerrno>

#include "../programs/say.hpp"
#include "heapwright/heap.h"

extern "C" {
[[gnu::weak]] void free_sized(void* block, std::size_t bytes);
[[gnu::weak]] void free_aligned_sized(void* block, std::size_t alignment, std::size_t bytes);
[[gnu::weak]] heapwright_heap* heapwright_heap_create(const char* name) noexcept;
[[gnu::weak]] void* heapwright_heap_allocate(heapwright_heap* heap, size_t bytes, size_t alignment) noexcept;
[[gnu::weak]] void heapwright_heap_free(heapwright_heap* heap, void* block) noexcept;
[[gnu::weak]] void heapwright_heap_destroy(heapwright_heap* heap) noexcept;
[[gnu::weak]] int heapwright_heap_get_statistics(heapwright_heap* heap,
                                                 heapwright_heap_statistics* out) noexcept;
[[gnu::weak]] size_t heapwright_heap_maintain(size_t budget) noexcept;
[[gnu::weak]] int heapwright_heap_is_valid(void) noexcept;
}

inline bool is_preloaded() { return heapwright_heap_is_valid != nullptr; }

inline void free_sized_or_free(void* block, std::size_t bytes) {
  if (free_sized != nullptr) return free_sized(block, bytes);
  std::free(block);
}

inline void free_aligned_sized_or_free(void* block, std::size_t alignment, std::size_t bytes) {
  if (free_aligned_sized != nullptr) return free_aligned_sized(block, alignment, bytes);
  std::free(block);
}

// The heap's own account of itself; nothing to ask in the control run.
inline void require_valid() {
  if (heapwright_heap_is_valid != nullptr) REQUIRE(heapwright_heap_is_valid() != 0);
}
