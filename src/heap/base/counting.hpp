// SPDX-License-Identifier: MIT
// The heap's counters, and the step counter of the instrumented build.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/heap_section.hpp"
#include "heap/base/size_class.hpp"

namespace heapwright::heap {

struct CountersPage {
  counters::Head head;
  counters::HeapSection heap;
  counters::ClassCounters classes[class_count];
};

// In the library until HEAPWRIGHT_HEAP_COUNTERS=1 puts it into shared memory.
extern CountersPage* counters_page;
// The page is alone in its pages, so that a shared mapping can replace them.
inline constexpr std::size_t counters_mapped_bytes = (sizeof(CountersPage) + 4095) / 4096 * 4096;

inline void count_reason(counters::Reason reason) noexcept {
  counters::add(counters_page->heap.counted_reasons[static_cast<std::uint32_t>(reason)], 1);
}

// A step is one iteration of any loop in a call. The instrumented build
// (heapwright_heap_counted) stops the process when one call takes more.
inline constexpr std::uint64_t max_steps_per_call = 1024;
#if defined(HEAPWRIGHT_COUNT_STEPS)
extern __thread std::uint64_t steps_of_call __attribute__((tls_model("initial-exec")));
inline void count_steps(std::uint64_t steps = 1) noexcept { steps_of_call += steps; }

// One call of malloc, free and the like.
class StepScope {
 public:
  StepScope() noexcept : before_(steps_of_call) {}
  ~StepScope() {
    const std::uint64_t steps = steps_of_call - before_;
    counters::raise(counters_page->heap.max_steps, steps);
    if (steps > max_steps_per_call) __builtin_trap();
  }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  std::uint64_t before_;
};
#else
inline void count_steps(std::uint64_t = 1) noexcept {}
struct StepScope {
  StepScope() noexcept {}  // not trivial, which avoids warnings about unused variables
};
#endif

}  // namespace heapwright::heap
