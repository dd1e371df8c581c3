// SPDX-License-Identifier: MIT
#pragma once

namespace heapwright::record {

// Looks up the functions that start processes. Before main: a fork may come
// from a signal handler, where nothing may be looked up.
void find_real_starts() noexcept;

}  // namespace heapwright::record
