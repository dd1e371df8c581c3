// SPDX-License-Identifier: MIT
// Asking the collector for a scan and waiting for its answer, in a preloaded recorder and in an attached one.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/clock.hpp"
#include "record/ring.hpp"
#include "session/layout.hpp"

namespace heapwright::record {

// Returns the request's number, to be compared with scans_served.
inline std::uint32_t post_scan(session::ProcessBlock& block, session::ScanCause cause) noexcept {
  std::atomic<std::uint32_t>& word = block.scan_request;
  std::uint32_t seen = word.load(std::memory_order_relaxed);
  std::uint32_t wanted = 0;
  do {
    wanted = (seen | session::scan_cause_mask) + 1 + cause;
  } while (!word.compare_exchange_weak(seen, wanted, std::memory_order_seq_cst));
  return wanted / session::scan_request_step;
}

// Until the collector has set the word to a number that is enough, as another thread's later request answers
// this one as well; the numbers wrap around.
template <typename IsEnough, typename Reader>
void wait_for_collector(std::atomic<std::uint32_t>& word, std::uint64_t longest_ns, const Reader& reader,
                        const IsEnough& is_enough) noexcept {
  constexpr std::uint64_t look_interval_ns = 25'000'000;  // whether the collector is still there
  const auto monotonic_ns = []() noexcept { return platform::read_ticks(false); };
  wake_collector(reader);
  const std::uint64_t until_ns = monotonic_ns() + longest_ns;
  while (monotonic_ns() < until_ns) {
    const std::uint32_t seen = word.load(std::memory_order_acquire);
    if (is_enough(seen) || !reader.is_alive()) return;
    rest(word, seen, look_interval_ns, reader);
  }
}

// Before the process ends: requests its last scan, and waits for it.
template <typename Reader>
void wait_for_last_scan(session::ProcessBlock& block, const Reader& reader) noexcept {
  const std::uint32_t number = post_scan(block, session::scan_before_exit);
  const bool is_for_snapshot = (reader.control.flags & session::snapshot_at_end) != 0;
  wait_for_collector(
      block.scans_served, is_for_snapshot ? session::longest_snapshot_wait_ns : session::longest_exit_wait_ns,
      reader, [number](std::uint32_t served) {
        return ((served - number) & session::scan_number_mask) <= session::scan_number_mask / 2;
      });
}

}  // namespace heapwright::record
