// SPDX-License-Identifier: MIT
#include "record/scan_requests.hpp"

#include <atomic>
#include <cerrno>

#include "platform/clock.hpp"
#include "record/lane.hpp"
#include "record/process.hpp"
#include "record/ring.hpp"
#include "record/start_notes.hpp"

namespace heapwright::record {
namespace {

// How often to check whether the collector is still there.
constexpr std::uint64_t look_interval_ns = 25'000'000;

std::uint64_t monotonic_ns() noexcept { return platform::read_ticks(false); }

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

// Until the collector has set the word to a number that is enough, as another thread's later request answers
// this one as well; the numbers wrap around.
template <typename IsEnough>
void wait_for_collector(std::atomic<std::uint32_t>& word, std::uint64_t longest_ns,
                        const IsEnough& is_enough) noexcept {
  const Reader reader{*process.control, process.ticks_are_tsc};
  wake_collector(reader);
  const std::uint64_t until_ns = monotonic_ns() + longest_ns;
  while (monotonic_ns() < until_ns) {
    const std::uint32_t seen = word.load(std::memory_order_acquire);
    if (is_enough(seen) || !reader.is_alive()) return;
    rest(word, seen, look_interval_ns, reader);
  }
}

// Returns the request's number, to be compared with scans_served.
std::uint32_t post(session::ScanCause cause) noexcept {
  std::atomic<std::uint32_t>& word = process.block->scan_request;
  std::uint32_t seen = word.load(std::memory_order_relaxed);
  std::uint32_t wanted = 0;
  do {
    wanted = (seen | session::scan_cause_mask) + 1 + cause;
  } while (!word.compare_exchange_weak(seen, wanted, std::memory_order_seq_cst));
  return wanted / session::scan_request_step;
}

}  // namespace

void ask_for_scan(session::ScanCause cause) noexcept {
  if (!is_any_wanted(session::scan_residency)) return;
  post(cause);
}

void wait_for_exit_scan() noexcept {
  if (current_thread == &calling_libc) return;  // it may not read the clock
  const bool is_wanted = is_any_wanted(session::scan_residency | session::snapshot_at_end);
  if (!is_wanted || process.control->is_recording.load(std::memory_order_acquire) == 0) return;
  const int saved_errno = errno;
  const std::uint32_t number = post(session::scan_before_exit);
  const bool is_for_snapshot = (process.control->flags & session::snapshot_at_end) != 0;
  wait_for_collector(process.block->scans_served,
                     is_for_snapshot ? session::longest_snapshot_wait_ns : session::longest_exit_wait_ns,
                     [number](std::uint32_t served) {
                       return ((served - number) & session::scan_number_mask) <=
                              session::scan_number_mask / 2;
                     });
  errno = saved_errno;
}

void wait_for_snapshot() noexcept {
  if (current_thread == &calling_libc || !is_recording_here()) return;
  const int saved_errno = errno;
  const std::uint32_t number = process.block->snapshot_requests.fetch_add(1, std::memory_order_acq_rel) + 1;
  wait_for_collector(process.block->snapshots_read, session::longest_snapshot_wait_ns,
                     [number](std::uint32_t read) { return read - number <= UINT32_MAX / 2; });
  errno = saved_errno;
}

}  // namespace heapwright::record
