// SPDX-License-Identifier: MIT
// The heap by its internal names, for processes that another malloc serves: a
// fuzzer, a sanitizer.
#pragma once

#include "heap/front/allocate.hpp"
#include "heap_model.hpp"

namespace heap_model {

inline constexpr Functions heap_functions{
    .allocate = [](std::size_t bytes) { return heapwright::heap::allocate(bytes); },
    .allocate_zeroed = heapwright::heap::allocate_zeroed,
    .allocate_aligned = heapwright::heap::allocate_aligned,
    .reallocate = heapwright::heap::reallocate,
    .release = [](void* block) { heapwright::heap::release(block); },
    .release_sized = [](void* block, std::size_t, std::size_t) { heapwright::heap::release(block); },
    .usable_bytes = heapwright::heap::usable_bytes,
    .create_heap = heapwright_heap_create,
    .allocate_in = heapwright_heap_allocate,
    .release_in = heapwright_heap_free,
    .destroy_heap = heapwright_heap_destroy,
    .get_statistics = heapwright_heap_get_statistics,
    .maintain = heapwright_heap_maintain,
    .is_valid = heapwright_heap_is_valid,
};

}  // namespace heap_model
