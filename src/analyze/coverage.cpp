// SPDX-License-Identifier: MIT
#include "analyze/coverage.hpp"

#include <algorithm>

namespace heapwright::analyze {
namespace {

// The first time of a process that a trace covers.
std::uint64_t begin_of(const order::Source& source) {
  if (source.metadata().forgotten_before_ns != 0) return source.metadata().forgotten_before_ns;
  if (source.metadata().is_attached()) return 0;  // it ran before its first known call
  std::uint64_t begin_ns = UINT64_MAX;
  for (const auto& chunk : source.event_chunks()) {
    begin_ns = std::min(begin_ns, chunk.first_begin_ns);
  }
  for (const auto& thread : source.threads()) {
    begin_ns = std::min(begin_ns, thread.first_ns);
  }
  return begin_ns == UINT64_MAX ? 0 : begin_ns;
}

bool ends_with_process(trace::EndReason reason) noexcept {
  return reason == trace::EndReason::exited || reason == trace::EndReason::killed ||
         reason == trace::EndReason::replaced;
}

}  // namespace

std::uint64_t end_ns_of(const order::Source& source) {
  std::uint64_t end_ns = source.end().time_ns;
  if (source.end().reason == trace::EndReason::missing) {
    for (const auto& chunk : source.event_chunks()) {
      end_ns = std::max(end_ns, chunk.last_end_ns);
    }
  }
  return end_ns;
}

RecordedSpans::RecordedSpans(const order::Source& source) {
  const auto begin_ns = begin_of(source);
  const auto end_ns = std::max(end_ns_of(source), begin_ns);
  auto switches = source.switches();
  std::stable_sort(switches.begin(), switches.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  bool is_on = true;
  auto since_ns = begin_ns;  // start of the current state
  const auto close = [&](std::uint64_t time_ns) {
    if (time_ns <= since_ns) {
      return;
    }
    if (is_on) {
      spans_.push_back({since_ns, time_ns});
    } else {
      first_gap_ns_ = std::min(first_gap_ns_, since_ns);
    }
  };
  for (const auto& change : switches) {
    const auto time_ns = std::clamp(change.time_ns, begin_ns, end_ns);
    if (change.is_on == is_on) {
      continue;
    }
    close(time_ns);
    if (change.is_on && time_ns > since_ns) {
      resumes_ns_.push_back(time_ns);
    }
    is_on = change.is_on;
    since_ns = time_ns;
  }
  close(end_ns);
  starts_on_ = first_gap_ns_ > begin_ns;
  has_start_ = starts_on_;
  if (source.metadata().forgotten_before_ns != 0) {
    has_start_ = false;
    first_gap_ns_ = 0;
  }
  has_end_ = is_on && ends_with_process(source.end().reason);
}

bool RecordedSpans::has_gap_between(std::uint64_t from_ns, std::uint64_t to_ns) const noexcept {
  const auto resume = std::upper_bound(resumes_ns_.begin(), resumes_ns_.end(), from_ns);
  return resume != resumes_ns_.end() && *resume <= to_ns;
}

Coverage RecordedSpans::within(std::uint64_t from_ns, std::uint64_t to_ns) const {
  Coverage coverage;
  coverage.has_start = has_start_;
  coverage.has_end = has_end_;
  coverage.pauses = resumes_ns_.size() - (starts_on_ || resumes_ns_.empty() ? 0 : 1);
  coverage.is_whole_run = has_start_ && has_end_ && coverage.pauses == 0;
  for (const auto& span : spans_) {
    const Span part{std::max(span.from_ns, from_ns), std::min(span.to_ns, to_ns)};
    if (part.from_ns < part.to_ns) {
      coverage.spans.push_back(part);
    }
  }
  return coverage;
}

Coverage coverage_of(const trace::Reader& reader) {
  return RecordedSpans(*order::make_source(reader)).within(0, UINT64_MAX);
}

}  // namespace heapwright::analyze
