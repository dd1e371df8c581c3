// SPDX-License-Identifier: MIT
// Where the kernel saves the interrupted registers, relative to the stack pointer that a signal handler
// returns to: on x86-64 the ucontext, on aarch64 a siginfo and the ucontext.
#pragma once

#include <cstdint>

namespace heapwright::unwind {

#if defined(__aarch64__)
inline constexpr std::int64_t signal_frame_rbp_offset = 544;
inline constexpr std::int64_t signal_frame_link_offset = 552;  // x30
inline constexpr std::int64_t signal_frame_rsp_offset = 560;
inline constexpr std::int64_t signal_frame_rip_offset = 568;
#else
inline constexpr std::int64_t signal_frame_rbp_offset = 120;
inline constexpr std::int64_t signal_frame_rsp_offset = 160;
inline constexpr std::int64_t signal_frame_rip_offset = 168;
#endif

}  // namespace heapwright::unwind
