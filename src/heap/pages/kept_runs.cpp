// SPDX-License-Identifier: MIT
#include "heap/pages/kept_runs.hpp"

#include "heap/base/counting.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/pages/free_runs.hpp"

namespace heapwright::heap {

namespace {

constinit std::atomic<KeptRuns*> registry{nullptr};
constinit KeptRuns* looked_at = nullptr;  // the last one that join_kept() examined; under the lock

std::uint32_t unit_of_entry(std::uint64_t entry) noexcept { return static_cast<std::uint32_t>(entry); }
std::uint16_t tick_of_entry(std::uint64_t entry) noexcept { return static_cast<std::uint16_t>(entry >> 32U); }

KeptRuns* next_of(const KeptRuns* before) noexcept {
  if (before != nullptr && before->next_registered != nullptr) return before->next_registered;
  return registry.load(std::memory_order_acquire);
}

// Joins the free runs with its original age.
void join(std::uint64_t entry) noexcept {
  insert_joined(unit_of_entry(entry), kept_units, true);
  line_of(source.newest)->stamp = tick_of_entry(entry);
}

}  // namespace

void register_kept(KeptRuns* kept) noexcept {
  kept->next_registered = registry.load(std::memory_order_relaxed);
  while (!registry.compare_exchange_weak(kept->next_registered, kept, std::memory_order_release)) {
  }
}

bool keep_run(KeptRuns* kept, std::uint32_t unit) noexcept {
  for (std::atomic<std::uint64_t>& place : kept->runs) {
    count_steps();
    if (place.load(std::memory_order_relaxed) != 0) continue;
    note_waiting_memory();
    place.store(std::uint64_t{current_tick()} << 32U | unit, std::memory_order_release);
    return true;
  }
  return false;
}

std::uint32_t take_kept(KeptRuns* kept) noexcept {
  for (std::atomic<std::uint64_t>& place : kept->runs) {
    count_steps();
    if (place.load(std::memory_order_relaxed) == 0) continue;
    const std::uint64_t entry = place.exchange(0, std::memory_order_acquire);
    if (entry != 0) return unit_of_entry(entry);
  }
  return 0;
}

bool join_kept(std::uint16_t now, std::uint16_t least_age) noexcept {
  constexpr int most_looked_at = 32;
  bool has_joined = false;
  KeptRuns* const first = next_of(looked_at);
  for (int i = 0; i < most_looked_at && first != nullptr; ++i) {
    looked_at = next_of(looked_at);
    for (std::atomic<std::uint64_t>& place : looked_at->runs) {
      count_steps();
      std::uint64_t entry = place.load(std::memory_order_relaxed);
      if (entry == 0 || static_cast<std::uint16_t>(now - tick_of_entry(entry)) < least_age) continue;
      if (!place.compare_exchange_strong(entry, 0, std::memory_order_acquire)) continue;
      join(entry);
      has_joined = true;
    }
    if (next_of(looked_at) == first) break;
  }
  return has_joined;
}

std::uint64_t kept_count(const KeptRuns& kept) noexcept {
  std::uint64_t count = 0;
  for (const std::atomic<std::uint64_t>& place : kept.runs) {
    count += place.load(std::memory_order_relaxed) != 0 ? 1 : 0;
  }
  return count;
}

bool has_kept_runs() noexcept {
  const KeptRuns* kept = registry.load(std::memory_order_acquire);
  while (kept != nullptr && kept_count(*kept) == 0) kept = kept->next_registered;
  return kept != nullptr;
}

}  // namespace heapwright::heap
