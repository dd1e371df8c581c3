// SPDX-License-Identifier: MIT
#include "replay/site_times.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "replay/call_times.hpp"

namespace heapwright::replay {
namespace {

// site 32 | kind 8 | log2 of the size 6 | step 10 bits
constexpr unsigned step_bits = 10;
constexpr unsigned size_bits = 6;
constexpr unsigned kind_bits = 8;
constexpr std::uint64_t step_mask = (std::uint64_t{1} << step_bits) - 1;
constexpr std::uint64_t size_mask = (std::uint64_t{1} << size_bits) - 1;
constexpr std::uint64_t kind_mask = (std::uint64_t{1} << kind_bits) - 1;
static_assert(CallTimes::steps <= step_mask);
static_assert(step_bits + size_bits + kind_bits <= 32);

std::uint64_t key_of(std::uint32_t site, std::uint8_t kind, std::uint64_t largest_bytes,
                     std::uint64_t ticks) noexcept {
  const auto size = static_cast<std::uint64_t>(std::bit_width(largest_bytes));
  const std::uint64_t group =
      (((std::uint64_t{site} << kind_bits) | kind) << size_bits) | std::min(size, size_mask);
  return (group << step_bits) | CallTimes::step_of(ticks);
}

SiteTimes::Group group_of(std::uint64_t key) noexcept {
  SiteTimes::Group group;
  const std::uint64_t size = (key >> step_bits) & size_mask;
  group.largest_bytes = size == 0 ? 0 : std::uint64_t{1} << (size - 1);
  group.kind = static_cast<std::uint8_t>((key >> (step_bits + size_bits)) & kind_mask);
  group.site = static_cast<std::uint32_t>(key >> (step_bits + size_bits + kind_bits));
  return group;
}

}  // namespace

void SiteTimes::add(std::uint32_t stack, std::uint8_t kind, std::uint64_t largest_bytes,
                    std::uint64_t ticks) {
  const std::uint32_t site = stack < site_of_stack_.size() ? site_of_stack_[stack] : left_out;
  if (site == left_out) return;
  Entry& entry = find(entries_, key_of(site, kind, largest_bytes, ticks));
  if (entry.calls++ == 0 && ++used_ * 2 > entries_.size()) grow();
}

// A free entry gets the key.
SiteTimes::Entry& SiteTimes::find(std::vector<Entry>& entries, std::uint64_t key) noexcept {
  const std::size_t mask = entries.size() - 1;
  auto at = static_cast<std::size_t>((key * 0x9e37'79b9'7f4a'7c15ULL) >> 32U) & mask;
  while (entries[at].calls != 0 && entries[at].key != key) at = (at + 1) & mask;
  entries[at].key = key;
  return entries[at];
}

void SiteTimes::grow() {
  std::vector<Entry> larger(entries_.size() * 2);
  for (const Entry& entry : entries_) {
    if (entry.calls != 0) find(larger, entry.key).calls = entry.calls;
  }
  entries_ = std::move(larger);
}

std::vector<SiteTimes::Group> SiteTimes::groups(std::uint64_t least_calls) const {
  std::vector<Entry> sorted;
  std::copy_if(entries_.begin(), entries_.end(), std::back_inserter(sorted),
               [](const Entry& entry) { return entry.calls != 0; });
  std::sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  std::vector<Group> found;
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const auto end = std::find_if(begin, sorted.end(), [&](const Entry& entry) {
      return entry.key >> step_bits != begin->key >> step_bits;
    });
    Group group = group_of(begin->key);
    for (auto at = begin; at != end; ++at) group.calls += at->calls;
    const auto ticks_at = [&](double share) {
      const double wanted = share * static_cast<double>(group.calls);
      auto at = begin;
      for (auto seen = static_cast<double>(at->calls); seen < wanted && at + 1 != end;) {
        seen += static_cast<double>((++at)->calls);
      }
      return CallTimes::middle_of(static_cast<std::size_t>(at->key & step_mask));
    };
    group.p50_ticks = ticks_at(0.5);
    group.p99_ticks = ticks_at(0.99);
    group.p999_ticks = ticks_at(0.999);
    if (group.calls >= least_calls) found.push_back(group);
    begin = end;
  }
  return found;
}

}  // namespace heapwright::replay
