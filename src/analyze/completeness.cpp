// SPDX-License-Identifier: MIT
#include "analyze/completeness.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace heapwright::analyze {
namespace {

constexpr std::size_t damage_reasons_limit = 3;
constexpr std::uint64_t least_own_bytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t least_times = 8;  // as much as all blocks

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

// In brackets, if it is at least a hundredth. `recorded`: beside the `dropped`.
std::string share_of_all(std::uint64_t dropped, std::uint64_t recorded) {
  const double all = static_cast<double>(dropped) + static_cast<double>(recorded);
  const auto percent = static_cast<unsigned>(100.0 * static_cast<double>(dropped) / all);
  return percent == 0 ? "" : " (" + std::to_string(percent) + " % of all)";
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
                             " seen but not recorded" + share_of_all(result.dropped, source.event_count()));
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

void add_contradictions(const Totals& totals, Completeness& completeness) {
  const auto add = [&](std::uint64_t count, const char* one, const char* many) {
    if (count == 0) return;
    completeness.reasons.push_back(std::to_string(count) + (count == 1 ? one : many));
    completeness.is_complete = false;
  };
  add(totals.reused_live_addresses, " address was handed out twice: its free is missing",
      " addresses were handed out twice: their frees are missing");
  // Where calls are known to be missing, these are among them.
  if (!completeness.is_complete) return;
  add(totals.unknown_releases, " block was freed whose allocation is missing",
      " blocks were freed whose allocations are missing");
}

void add_own_memory(const order::Source& source, const std::vector<MappingSite>& mappings, const Peak& peak,
                    Completeness& completeness) {
  const trace::Metadata& metadata = source.metadata();
  if (metadata.is_fork_child || metadata.has_condition(trace::runtime_condition)) return;
  // An allocator inside whose calls are seen reserves memory outside of them, too.
  if (metadata.has_condition(trace::patched_condition) || metadata.has_condition(trace::beside_condition)) {
    return;
  }
  std::uint64_t mapped_bytes = 0;
  std::uint64_t at_end_bytes = 0;
  for (const MappingSite& site : mappings) {
    mapped_bytes += site.bytes - std::min(site.bytes, site.of_files_bytes);
    const std::uint64_t kept_bytes =
        site.at_end_bytes - std::min(site.at_end_bytes, site.reserved_at_end_bytes);
    at_end_bytes += kept_bytes - std::min(kept_bytes, site.of_files_bytes);
  }
  std::uint64_t resident_bytes = 0;
  for (const trace::MemorySample& sample : source.memory_samples()) {
    resident_bytes = std::max(resident_bytes, sample.resident_anonymous_bytes);
  }
  const std::uint64_t own_bytes = std::max(at_end_bytes, std::min(mapped_bytes, resident_bytes));
  if (own_bytes < least_own_bytes || own_bytes / least_times < peak.live_usable_bytes) return;
  completeness.reasons.push_back(
      std::to_string(own_bytes >> 20U) + " MiB of its own mappings beside " +
      std::to_string(peak.live_usable_bytes >> 10U) +
      " KiB of heap blocks: an allocator of its own is probably inside, whose calls are not seen");
  completeness.is_complete = false;
}

}  // namespace heapwright::analyze
