// SPDX-License-Identifier: MIT
// A hint that a line of memory is about to be written.
#pragma once

namespace heapwright::platform {

// Another processor may have the line: it gives it up meanwhile. The compiler's own hint fetches it
// for reading on x86, unless told that the processor has this one; those that lack it do nothing.
inline void prefetch_for_writing(const void* memory) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(memory)));
#else
  __builtin_prefetch(memory, 1);
#endif
}

}  // namespace heapwright::platform
