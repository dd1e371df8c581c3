// SPDX-License-Identifier: MIT
// A heap that grows fast faults each of its pages in once. The maintenance
// thread does that ahead of it, sixteen pages at a time, which costs the system
// a good half of what as many faults do, and the program nothing.
//
//   | handed out ... | populated | clean tail of the region ... | frontier
//
// What is populated is clean and in the bins as before: whoever takes it finds
// zeros that need no fault. Only where the process may use one memory node: on
// several, a page belongs to the node of the thread that will use it.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// For one thread at a time. If slabs of small blocks made the clean tail shorter
// by `least_growth` units since the last look, populates its first pages: a
// sixty-fourth of what is in use, at most 16 MiB. False: they did not, or that
// is less than 8 MiB.
bool populate_ahead(std::uint32_t least_growth) noexcept;

// Gives back what was populated and not used since, once the heap has not
// grown fast for `least_age` ticks before `now`.
void drop_populated(std::uint16_t now, std::uint16_t least_age) noexcept;

}  // namespace heapwright::heap
