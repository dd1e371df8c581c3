// SPDX-License-Identifier: MIT
#include "analyze/completeness.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace heapwright::analyze {
namespace {

constexpr std::size_t damage_reasons_limit = 3;

struct Gaps {
  std::uint64_t missing = 0;
  bool has_overlap = false;
};

Gaps find_gaps(const order::Source& source) {
  Gaps gaps;
  std::unordered_map<std::uint32_t, std::uint64_t> next_of_thread;
  for (const auto& chunk : source.event_chunks()) {
    auto& next = next_of_thread[chunk.thread];
    if (chunk.first_sequence >= next) {
      gaps.missing += chunk.first_sequence - next;
    } else {
      gaps.has_overlap = true;
    }
    next = std::max(next, chunk.first_sequence + chunk.count);
  }
  // In a running program, events that threads have counted but that are missing here are written later.
  if (source.end().reason == trace::EndReason::still_running) return gaps;
  for (const auto& thread : source.threads()) {
    const auto found = next_of_thread.find(thread.index);
    const auto next = found == next_of_thread.end() ? 0 : found->second;
    gaps.missing += thread.events > next ? thread.events - next : 0;
  }
  return gaps;
}

std::string seconds(std::uint64_t time_ns) {
  const auto tenths = time_ns / 100'000'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

void add_end_reason(const trace::End& end, std::vector<std::string>& reasons) {
  switch (end.reason) {
    case trace::EndReason::missing:
      reasons.emplace_back("the end mark is missing: the recording was cut");
      break;
    case trace::EndReason::write_failed:
      reasons.push_back("writing failed at " + seconds(end.time_ns) + " (errno " +
                        std::to_string(end.status) + ", " + std::strerror(end.status) +
                        "); later calls are missing");
      break;
    default:
      break;
  }
}

void add_damage(const std::vector<trace::Damage>& damage, std::vector<std::string>& reasons) {
  for (std::size_t index = 0; index < damage.size() && index < damage_reasons_limit; ++index) {
    reasons.push_back("damage at byte " + std::to_string(damage[index].file_offset) + ": " +
                      damage[index].what);
  }
  if (damage.size() > damage_reasons_limit) {
    const auto more = damage.size() - damage_reasons_limit;
    reasons.push_back("and " + std::to_string(more) + " more damaged place" + (more == 1 ? "" : "s"));
  }
}

}  // namespace

Completeness completeness_of(const order::Source& source, std::vector<trace::Damage> skipped,
                             std::uint64_t skipped_events) {
  std::sort(skipped.begin(), skipped.end(),
            [](const auto& a, const auto& b) { return a.file_offset < b.file_offset; });
  Completeness result;
  std::uint64_t dropped_by_threads = 0;
  for (const auto& thread : source.threads()) {
    dropped_by_threads += thread.dropped;
  }
  result.dropped = std::max(source.end().dropped, dropped_by_threads);
  add_end_reason(source.end(), result.reasons);
  if (result.dropped != 0) {
    const bool is_one = result.dropped == 1;
    result.reasons.push_back(std::to_string(result.dropped) + (is_one ? " call was" : " calls were") +
                             " seen but not recorded");
  }
  for (const auto& line : source.metadata().unseen) result.reasons.push_back(line);
  const auto gaps = find_gaps(source);
  result.sequence_gaps = gaps.missing;
  if (gaps.missing != 0) {
    result.reasons.push_back(std::to_string(gaps.missing) +
                             " events are missing, by the gaps in their numbers");
  }
  if (gaps.has_overlap) {
    result.reasons.emplace_back("some events of a thread are numbered twice");
  }
  add_damage(source.damage(), result.reasons);
  add_damage(skipped, result.reasons);
  if (skipped_events != 0) {
    const bool is_one = skipped_events == 1;
    result.reasons.push_back(std::to_string(skipped_events) + (is_one ? " event" : " events") +
                             " could not be read");
  }
  result.is_complete = result.reasons.empty();
  return result;
}

}  // namespace heapwright::analyze
