// SPDX-License-Identifier: MIT
// How a process's memory moves: a reading every few milliseconds, left out
// while nothing changes.
#pragma once

#include <cstdint>
#include <vector>

#include "collect/process_watch.hpp"
#include "trace/records.hpp"

namespace heapwright::collect {

class MemorySampler {
 public:
  // Takes a reading when one is due. `table_bytes` is the most that the
  // recorder can occupy in the process: the kernel counts shared pages of
  // all kinds in one sum, the program's own too.
  // private_bytes: what the recorder has there of anonymous memory.
  void sample(ProcessWatch& watch, std::uint64_t table_bytes, std::uint64_t private_bytes,
              std::uint64_t now_ns, std::uint64_t interval_ns);

  // Earlier readings are thinned, so that there is room for as many as at first.
  void begin_anew() noexcept { count_ = 0; }

  // The next reading is due at once.
  void hurry() noexcept { next_ns_ = 0; }

  std::uint64_t recorder_peak_bytes() const noexcept { return recorder_peak_bytes_; }

  std::vector<trace::MemorySample> pending;  // to be written and cleared

 private:
  trace::MemorySample last_;
  std::uint64_t count_ = 0;
  std::uint64_t next_ns_ = 0;
  std::uint64_t recorder_peak_bytes_ = 0;
};

}  // namespace heapwright::collect
