// SPDX-License-Identifier: MIT
// A fork takes all locks of the heap, so that the child finds no half-done work.
#pragma once

namespace heapwright::heap {

// From now on, once per process. Handlers of libraries that allocate must be registered later.
void handle_forks() noexcept;

}  // namespace heapwright::heap
