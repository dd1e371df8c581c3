// SPDX-License-Identifier: MIT
// Identifies the allocator of this process.
#pragma once

#include "figures/report.hpp"

namespace heapwright::lab {

// The file that provides malloc, and the version that the allocator itself reports, if it has a function for
// it.
void identify(figures::Report& report);

}  // namespace heapwright::lab
