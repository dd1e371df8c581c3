// SPDX-License-Identifier: MIT
// Initialization, once per process.
#pragma once

namespace heapwright::heap {

// Reserves the region and reads the settings. False: no memory; may be called again.
bool initialize_process() noexcept;

}  // namespace heapwright::heap
