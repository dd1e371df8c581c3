// SPDX-License-Identifier: MIT
#include "replay/window.hpp"

#include <algorithm>

namespace heapwright::replay {
namespace {

constexpr std::size_t most_marks = 256;

auto largest_of(const std::vector<trace::MemorySample>& samples) {
  return std::max_element(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
    return a.resident_anonymous_bytes < b.resident_anonymous_bytes;
  });
}

// Assumes that calls are spread evenly within each chunk.
double calls_before(const order::Source& source, std::uint64_t time_ns) {
  double calls = 0;
  for (const auto& chunk : source.event_chunks()) {
    if (time_ns <= chunk.first_begin_ns) continue;
    const auto whole = static_cast<double>(chunk.last_end_ns - chunk.first_begin_ns) + 1;
    const auto part = static_cast<double>(time_ns - chunk.first_begin_ns);
    calls += chunk.count * std::min(part / whole, 1.0);
  }
  return calls;
}

// The earliest time with this many calls before it.
std::uint64_t time_of(const order::Source& source, double calls) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (const auto& chunk : source.event_chunks()) high = std::max(high, chunk.last_end_ns + 1);
  while (low < high) {
    const auto middle = low + (high - low) / 2;
    if (calls_before(source, middle) < calls) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

Window choose_window(const order::Source& source, std::uint64_t calls) {
  const auto whole = source.event_count();
  if (calls == 0 || whole <= calls) return {};
  const auto& samples = source.memory_samples();
  const double peak = samples.empty() ? 0 : calls_before(source, largest_of(samples)->time_ns);
  const auto wanted = static_cast<double>(calls);
  const double from = std::clamp(peak - 0.75 * wanted, 0.0, static_cast<double>(whole) - wanted);
  Window window;
  if (from >= 1) window.from_ns = time_of(source, from);
  if (from + wanted < static_cast<double>(whole)) window.to_ns = time_of(source, from + wanted);
  return window;
}

std::vector<Mark> choose_marks(const order::Source& source, const Window& window) {
  std::vector<trace::MemorySample> samples;
  for (const auto& sample : source.memory_samples()) {
    if (sample.time_ns >= window.from_ns && sample.time_ns < window.to_ns) samples.push_back(sample);
  }
  const auto most = static_cast<std::size_t>(largest_of(samples) - samples.begin());
  const auto stride = samples.size() / most_marks + 1;
  std::vector<Mark> marks;
  for (std::size_t index = 0; index < samples.size(); ++index) {
    const bool is_last = index + 1 == samples.size();
    const bool is_chosen = index % stride == 0 || is_last || index == most;
    if (is_chosen) marks.push_back({samples[index].time_ns, samples[index].resident_anonymous_bytes});
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.time_ns < b.time_ns; });
  // The mark at the begin has no time of its own.
  if (window.from_ns > 0 && !marks.empty()) marks.insert(marks.begin(), Mark{marks.front().time_ns, 0});
  return marks;
}

void EarlierBlocks::add(std::uint32_t lane, const Row& row) {
  switch (row.step) {
    case Step::makes:
      return put(lane, row);
    case Step::releases:
      take(row.address);
      return;
    case Step::moves_from:
      moved_[lane] = take(row.address);
      return;
    case Step::moves_to:
      moved_[lane] = {};
      return put(lane, row);
    case Step::fails:
      return;
    case Step::maps:
    case Step::unmaps:
    case Step::annotates:
      return;
    case Step::tunes:
      if (row.kind == trace::EventKind::mallopt_) settings_.push_back({lane, row});
  }
}

void EarlierBlocks::put(std::uint32_t lane, const Row& row) {
  take(row.address);  // whose free was not seen
  if (free_places_.empty()) {
    free_places_.push_back(static_cast<std::uint32_t>(kept_.size()));
    kept_.emplace_back();
  }
  const auto place = free_places_.back();
  free_places_.pop_back();
  kept_[place] = {{lane, row}, ++count_};
  kept_[place].made.row.step = Step::makes;
  table_.put({row.address, row.size, place, row.stack});
  live_bytes_ += row.size;
}

EarlierBlocks::Made EarlierBlocks::take(std::uint64_t address) {
  const auto found = table_.take(address);
  if (found.address == 0) return {};
  live_bytes_ -= found.size;
  free_places_.push_back(found.slot);
  kept_[found.slot].number = 0;
  return kept_[found.slot].made;
}

std::vector<EarlierBlocks::Made> EarlierBlocks::take_all() {
  std::erase_if(kept_, [](const Kept& kept) { return kept.number == 0; });
  std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.number < b.number; });
  std::vector<Made> blocks;
  blocks.reserve(kept_.size());
  for (const Kept& kept : kept_) blocks.push_back(kept.made);
  kept_ = {};
  return blocks;
}

}  // namespace heapwright::replay
