// SPDX-License-Identifier: MIT
// Where the x86-64 kernel saves the interrupted registers, relative to the stack pointer that a signal
// handler returns to (the ucontext).
#pragma once

#include <cstdint>

namespace heapwright::unwind {

inline constexpr std::int64_t signal_frame_rbp_offset = 120;
inline constexpr std::int64_t signal_frame_rsp_offset = 160;
inline constexpr std::int64_t signal_frame_rip_offset = 168;

}  // namespace heapwright::unwind
