// SPDX-License-Identifier: MIT
// Whether a thread is in a hook of the recording agent, and may continue to use its memory.
#pragma once

#include "attach/observer.hpp"

namespace heapwright::attach {

// For any attachment: all hooks use the newest one's memory. All threads must be stopped, and no function
// patched any more. May be true by mistake: after a hook that was left by a jump, or for stack content that
// looks like a signal frame.
bool is_thread_within(const Scene& scene);

}  // namespace heapwright::attach
