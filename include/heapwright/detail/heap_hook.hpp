// SPDX-License-Identifier: MIT
// Questions the parts ask of whoever watches this program's heap calls; weak,
// so absent unless heap_budget.hpp is implemented in the program.
#ifndef HEAPWRIGHT_DETAIL_HEAP_HOOK_HPP
#define HEAPWRIGHT_DETAIL_HEAP_HOOK_HPP

#include <cstdint>

extern "C" {
// The heap allocations and releases made so far by the calling thread.
[[gnu::weak]] void heapwright_thread_heap_calls(std::uint64_t* allocations, std::uint64_t* releases) noexcept;
}

#endif
