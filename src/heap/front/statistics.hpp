// SPDX-License-Identifier: MIT
#pragma once

#include "heapwright/heap.h"

namespace heapwright::heap {

// See heapwright_heap_get_statistics(); `owner` null: everything.
heapwright_heap_statistics collect_statistics(const heapwright_heap* owner) noexcept;

// Every record of the heap agrees with every other. No other thread may allocate or free.
bool heap_is_valid() noexcept;

}  // namespace heapwright::heap
