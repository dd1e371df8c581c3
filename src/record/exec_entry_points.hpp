// SPDX-License-Identifier: MIT
#pragma once

namespace heapwright::record {

// Like find_real_starts, which calls it.
void find_real_execs() noexcept;

}  // namespace heapwright::record
