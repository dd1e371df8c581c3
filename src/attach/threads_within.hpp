// SPDX-License-Identifier: MIT
// Whether a thread stands within a hook of the agent that records, and may go on to use its memory.
#pragma once

#include "attach/observer.hpp"

namespace heapwright::attach {

// Of whichever attachment: its hooks look at the newest one's memory. All threads are stopped, and no
// function is patched any more. True may be wrong: of a hook that was left by a jump, or of what looks like a
// signal's frame on a stack.
bool is_thread_within(const Scene& scene);

}  // namespace heapwright::attach
