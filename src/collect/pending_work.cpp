// SPDX-License-Identifier: MIT
#include "collect/pending_work.hpp"

#include <iterator>

namespace heapwright::collect {
namespace {

// Too short for much kernel work: a loss does not concern such a call.
constexpr std::uint64_t shortest_call_in_doubt_ns = 4'000;

}  // namespace

bool PendingWork::Part::is_within(std::uint64_t begin_ns, std::uint64_t end_ns) const noexcept {
  if (records == 1) return first_ns >= begin_ns && last_ns <= end_ns;
  const std::uint64_t middle_ns = first_ns + (last_ns - first_ns) / 2;
  return middle_ns >= begin_ns && middle_ns <= end_ns;
}

std::uint64_t PendingWork::add(const KernelRecord& record, std::uint64_t time_ns, std::size_t most_parts) {
  std::uint64_t fault_ns = 0;
  last_ns_ = std::max(last_ns_, time_ns);
  switch (record.kind) {
    case KernelRecordKind::fault:
      fault_ns_ = time_ns;
      fault_off_ns_ = 0;
      push(time_ns, time_ns, {.faults = 1});
      break;
    case KernelRecordKind::fault_done:
      fault_ns = end_fault(time_ns);
      break;
    case KernelRecordKind::preempted:
    case KernelRecordKind::waits:
      out_ns_ = time_ns;
      is_preempted_ = record.kind == KernelRecordKind::preempted;
      break;
    case KernelRecordKind::resumed: {
      if (out_ns_ == 0) break;
      const std::uint64_t off_ns = time_ns - std::min(out_ns_, time_ns);
      fault_off_ns_ += off_ns;
      trace::KernelWork work;
      (is_preempted_ ? work.preemptions : work.waits) = 1;
      (is_preempted_ ? work.preempted_ns : work.waited_ns) = off_ns;
      push(out_ns_, time_ns, work);
      out_ns_ = 0;
      break;
    }
    case KernelRecordKind::mapping:
      push(time_ns, time_ns,
           {.mappings = 1, .mapped_address = record.address, .mapped_bytes = record.amount});
      break;
  }
  if (parts_.size() - next_ > most_parts) make_room(most_parts);
  return fault_ns;
}

// The fault's own part may not be the last one: the thread slept or was interrupted meanwhile.
std::uint64_t PendingWork::end_fault(std::uint64_t time_ns) {
  if (fault_ns_ == 0 || time_ns < fault_ns_) return 0;
  const std::uint64_t took_ns = time_ns - fault_ns_;
  const std::uint64_t work_ns = took_ns - std::min(fault_off_ns_, took_ns);
  const bool is_at_hand = next_ < parts_.size() && parts_.back().first_ns == fault_ns_ &&
                          parts_.back().records == 1 && parts_.back().work.faults == 1;
  if (is_at_hand) {
    parts_.back().last_ns = time_ns;
    parts_.back().work.fault_ns = work_ns;
  } else {
    push(fault_ns_, time_ns, {.fault_ns = work_ns});
  }
  fault_ns_ = 0;
  return work_ns;
}

void PendingWork::add_gap(std::uint64_t from_ns, std::uint64_t to_ns) {
  // An end without its begin, or the reverse, would yield a made-up time.
  fault_ns_ = out_ns_ = 0;
  gap_from_ns_ = std::min(gap_from_ns_, from_ns);
  gap_to_ns_ = to_ns;
}

void PendingWork::push(std::uint64_t first_ns, std::uint64_t last_ns, const trace::KernelWork& work) {
  if (next_ == parts_.size()) {
    parts_.clear();
    next_ = 0;
    grain_ = 1;
  }
  auto at = parts_.end();
  const auto first = parts_.begin() + static_cast<std::ptrdiff_t>(next_);
  while (at != first && std::prev(at)->first_ns > first_ns) --at;
  parts_.insert(at, {first_ns, last_ns, work});
}

// Merges neighbours with about the same number of records, so that all parts stay about equally fine;
// otherwise the older records would end up in a single part.
void PendingWork::make_room(std::size_t most_parts) {
  parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(next_));
  next_ = 0;
  while (parts_.size() > most_parts / 4 * 3) {
    std::size_t kept = 0;
    for (std::size_t index = 0; index < parts_.size(); ++kept) {
      Part part = parts_[index++];
      if (index < parts_.size() && part.records <= grain_ && parts_[index].records <= grain_) {
        const Part& other = parts_[index++];
        part.last_ns = std::max(part.last_ns, other.last_ns);
        part.work.add(other.work);
        part.records += other.records;
      }
      parts_[kept] = part;
    }
    const bool was_little = kept > parts_.size() / 4 * 3;
    parts_.resize(kept);
    if (was_little) grain_ *= 2;
  }
}

trace::KernelWork PendingWork::take(std::uint64_t begin_ns, std::uint64_t end_ns) {
  trace::KernelWork work;
  for (; next_ < parts_.size() && parts_[next_].first_ns <= end_ns; ++next_) {
    // A part may reach into the next call.
    if (parts_[next_].records > 1 && parts_[next_].last_ns > end_ns && !parts_[next_].is_within(0, end_ns)) {
      break;
    }
    if (parts_[next_].is_within(begin_ns, end_ns)) work.add(parts_[next_].work);
  }
  const bool overlaps_gap = gap_from_ns_ <= end_ns && gap_to_ns_ >= begin_ns;
  work.is_incomplete = overlaps_gap && end_ns - begin_ns >= shortest_call_in_doubt_ns;
  if (gap_to_ns_ <= end_ns) gap_from_ns_ = UINT64_MAX;
  return work;
}

}  // namespace heapwright::collect
