// SPDX-License-Identifier: MIT
#include "analyze/peak.hpp"

#include "analyze/facts.hpp"
#include "analyze/facts/calls.hpp"

namespace heapwright::analyze {

void LivePeak::begin_window(std::uint64_t time_ns) {
  peak_ = {time_ns, live_bytes_, live_usable_bytes_, live_blocks_};
  ++version_;
}

void LivePeak::finish(Facts& facts) {
  facts.peak = peak_;
  for (std::size_t index = 0; index < classes_.size(); ++index) {
    classes_[index].keep_peak(version_);
    facts.by_size[index].live_at_peak_blocks = classes_[index].at_peak_blocks;
    facts.by_size[index].live_at_peak_bytes = classes_[index].at_peak_bytes;
  }
}

}  // namespace heapwright::analyze
