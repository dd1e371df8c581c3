// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/records.hpp"

namespace heapwright::collect {

// At most `most` of the samples, which are in order of time: from each equal part, the sample with the
// largest memory.
inline std::vector<trace::MemorySample> thinned(std::span<const trace::MemorySample> samples,
                                                std::size_t most) {
  if (samples.size() <= most) return {samples.begin(), samples.end()};
  const auto resident = [](const trace::MemorySample& sample) {
    return sample.resident_anonymous_bytes + sample.resident_file_bytes + sample.resident_shared_bytes;
  };
  const std::uint64_t begin_ns = samples.front().time_ns;
  const std::uint64_t part_ns = (samples.back().time_ns - begin_ns) / most + 1;
  std::vector<trace::MemorySample> kept;
  std::uint64_t last_part = UINT64_MAX;
  for (const trace::MemorySample& sample : samples) {
    const std::uint64_t part = (sample.time_ns - begin_ns) / part_ns;
    if (part != last_part) {
      kept.push_back(sample);
    } else if (resident(sample) > resident(kept.back())) {
      kept.back() = sample;
    }
    last_part = part;
  }
  return kept;
}

}  // namespace heapwright::collect
