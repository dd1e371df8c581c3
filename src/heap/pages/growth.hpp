// SPDX-License-Identifier: MIT
// Where the region lies, and how it grows. Nothing is mapped ahead of what is
// used, so that a limit of the address space counts only that:
//
//   base                                                                base + span_bytes
//   | lines ... mapped a MiB at a time |  | units ... frontier |  nothing mapped  |
//
// The place is drawn at random, far from where the kernel maps on its own. If
// another mapping is met there all the same, what it lies in is left out.
#pragma once

#include <cstdint>

#include "heap/pages/run.hpp"

namespace heapwright::heap {

// Finds the region's place and maps its first lines. False: refused.
bool place_region() noexcept;

// A clean run of `units` at the frontier, which moves up; what it moves further
// than that is in the bins. Unit 0: refused, and nothing was changed.
Run grow_for(std::uint32_t units) noexcept;

// The region ends there while it is doubled, up to 32 MiB. Later growths are seldom.
bool is_start(std::uint32_t frontier) noexcept;
// Makes it 32 MiB: before a second thread opens slabs, so that lots lie apart (UnitLot), and where a
// block that grows looks for room.
void end_start() noexcept;

}  // namespace heapwright::heap
