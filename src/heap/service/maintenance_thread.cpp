// SPDX-License-Identifier: MIT
#include "heap/service/maintenance_thread.hpp"

#include <cstddef>
#include <cstdint>

#include "heap/base/own_thread.hpp"
#include "heap/base/settings.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/publish.hpp"
#include "heap/threads/caches.hpp"

namespace heapwright::heap {

namespace {

// With work left, a short pause lets other threads use the locks and the CPU. While
// memory is not yet due, a few checks during that time suffice.
std::uint64_t pause_after(const MaintenanceResult& result, std::size_t slice) noexcept {
  constexpr std::uint64_t linger_ns = 5'000'000'000;
  if (result.pieces == slice) return tick_ns / 16;
  if (result.has_surplus || result.pieces != 0) return 2 * tick_ns;
  if (settings.prints_counters) return tick_ns;
  if (settings.publishes_counters) return 8 * tick_ns;
  return result.is_waiting ? (decay_ticks() / 8 + 2) * tick_ns : linger_ns;
}

void run() noexcept {
  constexpr std::size_t slice = 64;
  // First lets the call continue that started the thread.
  sleep_until_rung(thread_bell(), tick_ns / 16);
  std::uint32_t idle_bell = thread_bell() - 1;  // the bell when no memory waited
  while (!is_thread_to_end()) {
    const std::uint32_t bell = thread_bell();
    const MaintenanceResult result = run_due_maintenance(slice);
    if (settings.publishes_counters) publish_counters();
    const bool is_idle = result.pieces == 0 && !result.is_waiting && !settings.publishes_counters;
    if (is_idle && bell == idle_bell && leave_thread()) return;
    idle_bell = is_idle ? bell : bell - 1;
    if (!is_thread_to_end()) sleep_until_rung(bell, pause_after(result, slice));
  }
}

}  // namespace

void allow_maintenance_thread() noexcept {
  const auto offset =
      reinterpret_cast<char*>(&current_cache) - static_cast<char*>(__builtin_thread_pointer());
  set_thread_work({run, offset, &cache_given_up, settings.lets_thread_be_unconfined});
}

}  // namespace heapwright::heap
