// SPDX-License-Identifier: MIT
#include "record/scan_requests.hpp"

#include <cerrno>

#include "record/lane.hpp"
#include "record/process.hpp"
#include "record/scan_waits.hpp"
#include "record/start_notes.hpp"

namespace heapwright::record {
namespace {

bool is_recording_here() noexcept {
  if (wiped_on_fork.mode.load(std::memory_order_acquire) != Mode::active) return false;
  // A vfork child runs in its parent's memory.
  return static_cast<std::uint32_t>(own_process_id()) == process.block->process_id;
}

// One of these control flags.
bool is_any_wanted(std::uint32_t flags) noexcept {
  return wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active &&
         (process.control->flags & flags) != 0 && is_recording_here();
}

Reader reader() noexcept { return {*process.control, process.ticks_are_tsc}; }

}  // namespace

void ask_for_scan(session::ScanCause cause) noexcept {
  if (!is_any_wanted(session::scan_residency)) return;
  post_scan(*process.block, cause);
}

void wait_for_exit_scan() noexcept {
  if (current_thread == &calling_libc) return;  // it may not read the clock
  const bool is_wanted = is_any_wanted(session::scan_residency | session::snapshot_at_end);
  if (!is_wanted || process.control->is_recording.load(std::memory_order_acquire) == 0) return;
  const int saved_errno = errno;
  wait_for_last_scan(*process.block, reader());
  errno = saved_errno;
}

void wait_for_snapshot() noexcept {
  if (current_thread == &calling_libc || !is_recording_here()) return;
  const int saved_errno = errno;
  const std::uint32_t number = process.block->snapshot_requests.fetch_add(1, std::memory_order_acq_rel) + 1;
  wait_for_collector(process.block->snapshots_read, session::longest_snapshot_wait_ns, reader(),
                     [number](std::uint32_t read) { return read - number <= UINT32_MAX / 2; });
  errno = saved_errno;
}

}  // namespace heapwright::record
