// SPDX-License-Identifier: MIT
// What a spinning thread does between two looks.
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
