// SPDX-License-Identifier: MIT
#include "heap/base/counting.hpp"

namespace heapwright::heap {

#if defined(HEAPWRIGHT_COUNT_STEPS)
__thread std::uint64_t steps_of_call __attribute__((tls_model("initial-exec"))) = 0;
#endif

namespace {

// Page-aligned and alone in its pages, so that a shared mapping can replace them.
alignas(4096) constinit union Storage {
  unsigned char bytes[counters_mapped_bytes];
  CountersPage page;
  constexpr Storage() : bytes{} {}
} storage;

}  // namespace

CountersPage* counters_page = &storage.page;

}  // namespace heapwright::heap
