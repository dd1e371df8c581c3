// SPDX-License-Identifier: MIT
// Heap call counts for the parts. Weak: absent unless the program implements
// heap_budget.hpp.
#ifndef HEAPWRIGHT_DETAIL_HEAP_HOOK_HPP
#define HEAPWRIGHT_DETAIL_HEAP_HOOK_HPP

#include <cstdint>

extern "C" {
// The calling thread's heap allocations and releases so far.
[[gnu::weak]] void heapwright_thread_heap_calls(std::uint64_t* allocations, std::uint64_t* releases) noexcept;
}

#endif
