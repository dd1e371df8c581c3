// SPDX-License-Identifier: MIT
// Samples a process's CPU time and page faults some times a second, at its end, and at its begin.
#pragma once

#include <cstdint>
#include <vector>

#include "collect/kernel_events.hpp"
#include "collect/process_watch.hpp"
#include "trace/records.hpp"

namespace heapwright::collect {

class ProcessorSampler {
 public:
  // The base of all samples: nothing, for the first image of a process, otherwise what it has used so far.
  void begin(const ProcessWatch& watch, bool is_first_image, std::uint64_t now_ns);
  // Takes a sample when one is due. `kernel`: the page faults that it has seen of the process; or nullptr.
  void sample(const ProcessWatch& watch, const KernelEvents* kernel, std::uint32_t process_id,
              std::uint64_t now_ns);
  // The next sample is due at once.
  void hurry() noexcept { next_ns_ = 0; }

  std::vector<trace::ProcessorSample> pending;  // to be written and cleared

 private:
  trace::ProcessorSample last_;
  std::uint64_t count_ = 0;
  std::uint64_t next_ns_ = 0;
};

}  // namespace heapwright::collect
