// SPDX-License-Identifier: MIT
// Guard units, which are inaccessible: in hardened mode before slabs and around large
// blocks, otherwise around some large blocks. Each splits a mapping, and a process may have 65,530.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/base/system_pages.hpp"
#include "heap/pages/region.hpp"
#include "heap/pages/unmapped_runs.hpp"

namespace heapwright::heap {

inline constexpr std::uint32_t most_guarded_runs = 10'000;
inline std::atomic<std::uint32_t> guarded_runs{0};

// False: there are enough; the run gets no guard.
inline bool may_guard_run() noexcept {
  return guarded_runs.load(std::memory_order_relaxed) < most_guarded_runs;
}
inline void guard_unit(std::uint32_t unit) noexcept { forbid(memory_of(unit), unit_bytes); }

// Frees a run that is partly inaccessible; it holds zeros afterwards.
inline void free_guarded_run(std::uint32_t unit, std::uint32_t units) noexcept {
  guarded_runs.fetch_sub(1, std::memory_order_relaxed);
  take_back(unit, units);
}

}  // namespace heapwright::heap
