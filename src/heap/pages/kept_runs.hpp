// SPDX-License-Identifier: MIT
// Runs of two units that a thread keeps for its next blocks of 64 to 128 KiB. These may be allocated and
// freed as often as short blocks, and each would take the lock of the page source twice.
#pragma once

#include <atomic>
#include <cstdint>

namespace heapwright::heap {

inline constexpr std::uint32_t kept_units = 2;

// Only its thread adds runs. Others take them when they have waited long enough or memory is short.
struct KeptRuns {
  static constexpr std::uint32_t capacity = 2;
  std::atomic<std::uint64_t> runs[capacity];  // first unit, above it the tick of its free; 0: none
  KeptRuns* next_registered;
};

// Permanent; before the first keep_run().
void register_kept(KeptRuns* kept) noexcept;

// Keeps a dirty run whose lines are all UnitKind::inside. False: no place; the caller calls free_run().
bool keep_run(KeptRuns* kept, std::uint32_t unit) noexcept;
// The run's first unit; 0: none.
std::uint32_t take_kept(KeptRuns* kept) noexcept;

// Under the lock of the page source: moves runs that the next few threads have kept for `least_age` ticks to
// the free runs. False: there were none.
bool join_kept(std::uint16_t now, std::uint16_t least_age) noexcept;
// Whether any thread keeps a run.
bool has_kept_runs() noexcept;
std::uint64_t kept_count(const KeptRuns& kept) noexcept;

}  // namespace heapwright::heap
