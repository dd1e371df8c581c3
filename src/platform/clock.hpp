// SPDX-License-Identifier: MIT
// The recorder's clock: the time stamp counter if it is the kernel's own clock source, CLOCK_MONOTONIC
// nanoseconds otherwise.
#pragma once

#include <time.h>

#include <cstdint>

namespace heapwright::platform {

// Not serializing: a few cycles of neighbouring code may be included, which is below the trace's resolution
// of 4 ns.
inline std::uint64_t read_ticks([[maybe_unused]] bool is_tsc) noexcept {
#if defined(__x86_64__)
  if (is_tsc) [[likely]] {
    return __builtin_ia32_rdtsc();  // whose header takes half of a small file's compilation
  }
#endif
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace heapwright::platform
