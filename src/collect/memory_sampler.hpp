// SPDX-License-Identifier: MIT
// Samples a process's memory every few milliseconds; skips samples while nothing changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collect/process_watch.hpp"
#include "session/seccomp_status.hpp"
#include "trace/records.hpp"

namespace heapwright::collect {

class MemorySampler {
 public:
  // Takes a sample when one is due. `table_bytes`: the most memory that the recorder's tables can occupy in
  // the process; the kernel reports shared pages of all kinds as one sum, including the program's own.
  // private_bytes: the recorder's anonymous memory there.
  void sample(ProcessWatch& watch, std::uint64_t table_bytes, std::uint64_t private_bytes,
              std::uint64_t now_ns, std::uint64_t interval_ns);

  // Earlier samples are thinned out, so there is room for as many as at the start.
  void restart() noexcept { count_ = 0; }

  // The next sample is due at once.
  void hurry() noexcept { next_ns_ = 0; }

  // At the last sample; without the recorder's.
  std::uint64_t resident_bytes() const noexcept {
    return last_.resident_anonymous_bytes + last_.resident_file_bytes + last_.resident_shared_bytes;
  }
  std::uint64_t recorder_peak_bytes() const noexcept { return recorder_peak_bytes_; }
  // Whether a seccomp filter was added since `at_start` (session/seccomp_status.hpp); if that is unknown,
  // since the first sample.
  bool has_new_filter(std::uint32_t at_start) const noexcept {
    return last_seccomp_ > std::min(at_start, first_seccomp_);
  }

  std::vector<trace::MemorySample> pending;  // to be written and cleared

 private:
  trace::MemorySample last_;
  std::uint64_t count_ = 0;
  std::uint64_t next_ns_ = 0;
  std::uint64_t recorder_peak_bytes_ = 0;
  std::uint32_t first_seccomp_ = session::unknown_seccomp;
  std::uint32_t last_seccomp_ = 0;
};

}  // namespace heapwright::collect
