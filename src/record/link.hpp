// SPDX-License-Identifier: MIT
#pragma once

namespace heapwright::record {

// Links the calling process when nobody has yet. True when recording may go
// on; false while this very thread is linking (a nested call) or when the
// process is dormant. Other threads wait until the link is made.
bool link_process() noexcept;

// Tells the allocator's name, also for fork children to come. Calls the
// allocator.
void name_allocator() noexcept;

}  // namespace heapwright::record
