// SPDX-License-Identifier: MIT
#pragma once

namespace heapwright::record {

// Links the calling process unless it is linked. True if recording may continue; false while this same thread
// is linking (a nested call) or when the process is dormant. Other threads wait for the link.
bool link_process() noexcept;

// Reports the allocator's name, also for future fork children. Calls the allocator.
void name_allocator() noexcept;

}  // namespace heapwright::record
