// SPDX-License-Identifier: MIT
#include "heap/service/process.hpp"

#include <atomic>

#include "heap/base/clock.hpp"
#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/random.hpp"
#include "heap/base/settings.hpp"
#include "heap/pages/growth.hpp"
#include "heap/service/maintenance_thread.hpp"
#include "heap/service/publish.hpp"
#include "heap/slabs/sealed_record.hpp"

namespace heapwright::heap {

namespace {

constinit Lock start_lock{};
std::atomic<bool> is_started{false};

}  // namespace

bool initialize_process() noexcept {
  if (is_started.load(std::memory_order_acquire)) return true;
  const LockGuard locked(start_lock, counters_page->heap.page_source_lock);
  if (is_started.load(std::memory_order_relaxed)) return true;
  find_clock();
  if (!place_region()) return false;
  read_settings();
  draw_word_key();
  if (settings.is_hardened) draw_seal_key();
  if (settings.has_maintenance_thread) allow_maintenance_thread();
  open_counters();
  is_started.store(true, std::memory_order_release);
  return true;
}

}  // namespace heapwright::heap
