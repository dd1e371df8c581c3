// SPDX-License-Identifier: MIT
// A hint that a line of memory is about to be written.
#pragma once

namespace heapwright::platform {

// Takes the line from another processor that may have it. On x86 the compiler's own hint fetches it for
// reading, unless told that the processor has this instruction; processors without it ignore it.
inline void prefetch_for_writing(const void* memory) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(memory)));
#else
  __builtin_prefetch(memory, 1);
#endif
}

}  // namespace heapwright::platform
