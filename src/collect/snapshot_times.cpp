// SPDX-License-Identifier: MIT
#include "collect/snapshot_times.hpp"

#include <algorithm>

namespace heapwright::collect {
namespace {

// Nobody knows a peak beforehand. So a new one is due when memory has grown by this part since the last: the
// highest snapshot is at most this part below the peak.
constexpr std::uint64_t growth_divisor = 8;
constexpr std::uint64_t least_peak_bytes = std::uint64_t{4} << 20U;
// The program runs this many times longer than it stands still for them.
constexpr std::uint64_t least_run_per_stop = 50;

}  // namespace

bool SnapshotTimes::is_above_again(std::uint64_t resident_bytes) noexcept {
  if (wishes_.above_bytes == 0) return false;
  if (resident_bytes < wishes_.above_bytes - wishes_.above_bytes / 10) was_above_ = false;
  if (was_above_ || resident_bytes < wishes_.above_bytes) return false;
  was_above_ = true;
  return true;
}

bool SnapshotTimes::is_due(std::uint64_t now_ns, std::uint64_t resident_bytes) noexcept {
  if (is_above_again(resident_bytes)) return true;
  if (wishes_.every_ns != 0 && now_ns >= next_ns_) return true;
  return wishes_.at_peak && resident_bytes >= least_peak_bytes && now_ns >= may_again_at_ns_ &&
         resident_bytes >= most_bytes_ + most_bytes_ / growth_divisor;
}

void SnapshotTimes::note(std::uint64_t now_ns, std::uint64_t resident_bytes,
                         std::uint64_t stopped_ns) noexcept {
  // Those that were missed meanwhile are not made up for.
  if (wishes_.every_ns != 0 && now_ns >= next_ns_) {
    next_ns_ += (1 + (now_ns - next_ns_) / wishes_.every_ns) * wishes_.every_ns;
  }
  most_bytes_ = std::max(most_bytes_, resident_bytes);
  may_again_at_ns_ = now_ns + stopped_ns * least_run_per_stop;
}

}  // namespace heapwright::collect
