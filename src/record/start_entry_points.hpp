// SPDX-License-Identifier: MIT
#pragma once

namespace heapwright::record {

// Looks up the functions that start processes. Before main: a fork may come from a signal handler, where
// lookups are not allowed.
void find_real_starts() noexcept;

}  // namespace heapwright::record
