// SPDX-License-Identifier: MIT
// The pause of a spinning thread between two reads.
#pragma once

namespace heapwright::platform {

inline void pause() noexcept {
#if defined(__aarch64__)
  asm volatile("yield");
#else
  __builtin_ia32_pause();
#endif
}

}  // namespace heapwright::platform
