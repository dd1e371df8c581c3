// SPDX-License-Identifier: MIT
// Runs of two units that a thread keeps for its next blocks of 64 to 128 KiB: these may come and go as often
// as short blocks do, and each would wait twice for the lock of the page source.
#pragma once

#include <atomic>
#include <cstdint>

namespace heapwright::heap {

inline constexpr std::uint32_t kept_units = 2;

// Only its thread puts runs here. Others take them out, when they have waited long enough or memory is short.
struct KeptRuns {
  static constexpr std::uint32_t capacity = 2;
  std::atomic<std::uint64_t> runs[capacity];  // first unit, above it the tick of its free; 0: none
  KeptRuns* next_registered;
};

// Before anything is kept there; for good.
void register_kept(KeptRuns* kept) noexcept;

// A dirty run whose lines are all UnitKind::inside. False: there is no place, so free_run() is for it.
bool keep_run(KeptRuns* kept, std::uint32_t unit) noexcept;
// Its first unit, 0: there is none.
std::uint32_t take_kept(KeptRuns* kept) noexcept;

// Under the lock of the page source: what the next few threads have kept for `least_age` ticks joins the free
// runs. False: they had kept nothing so long.
bool join_kept(std::uint16_t now, std::uint16_t least_age) noexcept;
// Any thread keeps a run.
bool has_kept_runs() noexcept;
std::uint64_t kept_count(const KeptRuns& kept) noexcept;

}  // namespace heapwright::heap
