// SPDX-License-Identifier: MIT
// The region's placement and growth. Address space is not reserved ahead, so that an
// address space limit counts only mapped memory:
//
//   base                                                                base + span_bytes
//   | lines ... mapped a MiB at a time |  | units ... frontier |  nothing mapped  |
//
// The base is random and far from the kernel's own choices. If another mapping is met
// nevertheless, its range is skipped.
#pragma once

#include <cstdint>

#include "heap/pages/run.hpp"

namespace heapwright::heap {

// Chooses the region's base and maps its first lines. False: refused.
bool place_region() noexcept;

// A clean run of `units` at the frontier, which advances; additional units go into the
// bins. Unit 0: refused, and nothing has changed.
Run grow_for(std::uint32_t units) noexcept;

// Whether a region with this frontier is still doubling, up to 32 MiB. Later growths are rare.
bool is_start(std::uint32_t frontier) noexcept;
// Grows it to 32 MiB: before a second thread opens slabs, so that lots are separate (UnitLot), and when a
// growing block needs room.
void end_start() noexcept;

}  // namespace heapwright::heap
