// SPDX-License-Identifier: MIT
// Which part of a run the recording covers, and the consequences for blocks that were allocated, or may have
// been freed, outside of it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/facts/coverage.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

// When the process or the recording ended; if the trace does not say, the end of its last call.
std::uint64_t end_ns_of(const order::Source& source);

class RecordedSpans {
 public:
  explicit RecordedSpans(const order::Source& source);

  // Whether the process ran unrecorded at some time before `time_ns`: a block that is freed then may have
  // been allocated there.
  bool has_gap_before(std::uint64_t time_ns) const noexcept { return first_gap_ns_ < time_ns; }
  // Whether the recording was off between the two times.
  bool has_gap_between(std::uint64_t from_ns, std::uint64_t to_ns) const noexcept;
  // Blocks older than this were live when the recording last paused. 0: it never did.
  std::uint64_t last_resume_ns() const noexcept { return resumes_ns_.empty() ? 0 : resumes_ns_.back(); }
  // The spans within the options' time range.
  Coverage within(std::uint64_t from_ns, std::uint64_t to_ns) const;

 private:
  std::vector<Span> spans_;  // of the run, in order, non-empty
  std::vector<std::uint64_t> resumes_ns_;
  std::uint64_t first_gap_ns_ = UINT64_MAX;
  bool starts_on_ = true;  // at the first covered moment
  bool has_start_ = true;
  bool has_end_ = true;
};

// Of the whole run, without its calls.
Coverage coverage_of(const trace::Reader& reader);

}  // namespace heapwright::analyze
