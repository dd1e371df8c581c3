// SPDX-License-Identifier: MIT
#include "collect/processor_sampler.hpp"

#include <algorithm>

namespace heapwright::collect {
namespace {

constexpr std::uint64_t interval_ns = 100'000'000;
// As for memory: after this many samples the interval doubles.
constexpr std::uint64_t samples_per_doubling = 1U << 18;

trace::ProcessorSample sample_of(const ProcessorReading& reading, std::uint64_t time_ns) {
  trace::ProcessorSample sample;
  sample.time_ns = time_ns;
  sample.cpu_ns = reading.cpu_ns;
  sample.system_ns = reading.system_ns;
  sample.minor_faults = reading.minor_faults;
  sample.major_faults = reading.major_faults;
  return sample;
}

}  // namespace

void ProcessorSampler::begin(const ProcessWatch& watch, bool is_first_image, std::uint64_t now_ns) {
  ProcessorReading reading;
  const bool is_known = watch.read_processor(reading);
  if (!is_first_image && !is_known) return;
  last_ = is_first_image ? trace::ProcessorSample{} : sample_of(reading, now_ns);
  pending.push_back(last_);
}

void ProcessorSampler::sample(const ProcessWatch& watch, const KernelEvents* kernel, std::uint32_t process_id,
                              std::uint64_t now_ns) {
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + (interval_ns << std::min<std::uint64_t>(count_ / samples_per_doubling, 16));
  ProcessorReading reading;
  if (!watch.read_processor(reading)) return;
  trace::ProcessorSample sample = sample_of(reading, now_ns);
  if (sample.cpu_ns <= last_.cpu_ns) return;
  if (kernel != nullptr) kernel->add_faults_of(process_id, sample);
  // The kernel's division of the time is estimated anew each time.
  sample.system_ns = std::max(sample.system_ns, last_.system_ns);
  last_ = sample;
  pending.push_back(sample);
  ++count_;
}

}  // namespace heapwright::collect
