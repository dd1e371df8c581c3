// SPDX-License-Identifier: MIT
// Where the heap counts, and the step counter of the instrumented build.
#pragma once

#include <cstdint>

#include "counters/layout.hpp"
#include "heap/size_class.hpp"

namespace heapwright::heap {

struct CountersPage {
  counters::Page page;
  counters::ClassCounters classes[class_count];
};

// In the library until HEAPWRIGHT_HEAP_COUNTERS=1 puts it into shared memory.
extern CountersPage* counters_page;

inline void count_reason(counters::Reason reason) noexcept {
  counters::add(counters_page->page.counted_reasons[static_cast<std::uint32_t>(reason)], 1);
}

#if defined(HEAPWRIGHT_COUNT_STEPS)
inline constexpr std::uint64_t max_steps_per_call = 4096;
extern thread_local std::uint64_t steps_of_call;
inline void count_steps(std::uint64_t steps = 1) noexcept { steps_of_call += steps; }
#else
inline void count_steps(std::uint64_t = 1) noexcept {}
#endif

}  // namespace heapwright::heap
