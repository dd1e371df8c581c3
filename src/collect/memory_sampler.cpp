// SPDX-License-Identifier: MIT
#include "collect/memory_sampler.hpp"

#include <algorithm>

namespace heapwright::collect {
namespace {

// After this many samples the interval doubles: days of recording stay within the limit of a trace (2^22).
constexpr std::uint64_t samples_per_doubling = 1U << 18;
constexpr std::uint64_t unchanged_interval_ns = 1'000'000'000;

// The cgroup's charge also changes because of other processes: it is stored only along with changes of this
// process.
bool is_same_memory(const trace::MemorySample& a, const trace::MemorySample& b) {
  return a.resident_anonymous_bytes == b.resident_anonymous_bytes &&
         a.resident_file_bytes == b.resident_file_bytes && a.swapped_bytes == b.swapped_bytes &&
         a.recorder_bytes == b.recorder_bytes && a.resident_shared_bytes == b.resident_shared_bytes;
}

}  // namespace

void MemorySampler::sample(ProcessWatch& watch, std::uint64_t table_bytes, std::uint64_t private_bytes,
                           std::uint64_t now_ns, std::uint64_t interval_ns) {
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + (interval_ns << std::min<std::uint64_t>(count_ / samples_per_doubling, 16));
  MemoryReading reading;
  if (!watch.read_memory(reading)) return;
  first_seccomp_ = std::min(first_seccomp_, reading.seccomp);
  last_seccomp_ = reading.seccomp;
  trace::MemorySample sample;
  sample.time_ns = now_ns;
  // The program may have overwritten the figure.
  private_bytes = std::min(private_bytes, reading.anonymous_bytes);
  sample.resident_anonymous_bytes = reading.anonymous_bytes - private_bytes;
  sample.resident_file_bytes = reading.file_bytes;
  sample.swapped_bytes = reading.swapped_bytes;
  sample.recorder_bytes = std::min(reading.shared_bytes, table_bytes);
  sample.resident_shared_bytes = reading.shared_bytes - sample.recorder_bytes;
  sample.page_table_bytes = reading.page_table_bytes;
  sample.cgroup_charge_bytes = reading.cgroup_charge_bytes;
  sample.recorder_bytes += private_bytes;
  recorder_peak_bytes_ = std::max(recorder_peak_bytes_, sample.recorder_bytes);
  if (count_ != 0 && is_same_memory(sample, last_) && now_ns - last_.time_ns < unchanged_interval_ns) return;
  last_ = sample;
  pending.push_back(sample);
  ++count_;
}

}  // namespace heapwright::collect
