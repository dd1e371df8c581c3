// SPDX-License-Identifier: MIT
// The agent's data, and what follows from it alone.
#pragma once

#include "attach/agent/program.hpp"
#include "attach/recorder/layout.hpp"
#include "unwind/unwind.hpp"

namespace heapwright::attach::recorder {

HEAPWRIGHT_AGENT_DATA RecordingAgent heapwright_agent;
HEAPWRIGHT_AGENT_DATA WipedOnFork heapwright_agent_threads;
HEAPWRIGHT_AGENT_DATA FrameTable heapwright_agent_frames;

template <Heap heap>
const agent::Agent& agent_of() noexcept {
  return heap == Heap::first ? heapwright_agent.common : heapwright_agent.second;
}

template <Heap heap>
inline constexpr Activity activity_in = heap == Heap::first ? Activity::real_call : Activity::second_call;

inline std::uint64_t identity_of_caller(std::uint64_t thread_pointer) noexcept {
  const auto* own = reinterpret_cast<const std::uint32_t*>(thread_pointer + heapwright_agent.identity_offset);
  return heapwright_agent.common.attachment << 32 | *own;
}

inline unwind::Tables tables() noexcept {
  const session::Control& control = *heapwright_agent.control;
  return {.block = heapwright_agent.block,
          .max_frames = control.max_frames,
          .ticks_are_tsc = (control.flags & session::clock_is_tsc) != 0,
          .interpreter = &heapwright_agent.interpreter};
}

inline bool ticks_are_tsc() noexcept {
  return (heapwright_agent.control->flags & session::clock_is_tsc) != 0;
}

}  // namespace heapwright::attach::recorder
