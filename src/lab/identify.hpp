// SPDX-License-Identifier: MIT
// Which allocator serves this process.
#pragma once

#include "figures/report.hpp"

namespace heapwright::lab {

// The file that malloc comes from, and that allocator's own name for its
// version where it has a function for it.
void identify(figures::Report& report);

}  // namespace heapwright::lab
