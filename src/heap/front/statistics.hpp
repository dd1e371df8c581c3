// SPDX-License-Identifier: MIT
#pragma once

#include "heapwright/heap.h"

namespace heapwright::heap {

// See heapwright_heap_get_statistics(); `owner` null: the whole process.
heapwright_heap_statistics collect_statistics(const heapwright_heap* owner) noexcept;

// Whether the heap's metadata is consistent. No other thread may allocate or free.
bool heap_is_valid() noexcept;

}  // namespace heapwright::heap
