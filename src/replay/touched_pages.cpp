// SPDX-License-Identifier: MIT
#include "replay/touched_pages.hpp"

#include <algorithm>

#include "replay/heap_calls.hpp"
#include "replay/page_runs.hpp"
#include "trace/damage.hpp"

namespace heapwright::replay {
namespace {

constexpr std::uint64_t page = trace::residency_unit_bytes;
// Less than it takes to get a fresh page from the kernel, also as part of a huge one.
constexpr std::uint64_t least_ns_a_page = 100;
// The kernel keeps a part of its count by processor, which a reading misses.
constexpr std::uint64_t uncounted_pages = 128;
constexpr std::uint64_t long_life_ns = 100'000'000;
// The C library maps a large block apart this far into a page, of fresh memory that calloc does not clear.
constexpr std::uint64_t mapped_apart = 16;

}  // namespace

TouchedPages::TouchedPages(const order::Source& source, std::uint64_t from_ns) : source_(source) {
  const auto& scans = source.scans();
  while (next_scan_ + 1 < scans.size() && scans[next_scan_ + 1].end_ns < from_ns) ++next_scan_;
}

trace::ResidencyScan TouchedPages::pass() {
  const auto& chunk = source_.scans()[next_scan_++];
  trace::ResidencyScan scan;
  try {
    scan = source_.decode(chunk);
  } catch (const trace::TraceError&) {
    return {};
  }
  const auto looked_to = scan.windows.empty() ? 0 : scan.windows.back().end;
  std::size_t run = 0;
  for (auto& [address, block] : live_) {
    const auto begin = (address + page - 1) / page * page;
    const auto end = (address + block.size) / page * page;
    // A block that was allocated during the scan may have had other pages when they were scanned.
    if (block.made_ns >= chunk.begin_ns || end > looked_to) continue;
    see(resident_in(scan.runs, run, begin, end) / page, chunk.begin_ns, block);
  }
  return scan;
}

std::uint8_t TouchedPages::make(std::uint64_t address, const Large& block) {
  Large& own = live_[address] = block;
  const auto begin = (address + page - 1) / page;
  own.pages = (address + block.size) / page - begin;
  own.first_mark = static_cast<std::uint32_t>(changes_at_marks_.size() - 1);
  ++blocks_;
  own.is_cleared = block.is_cleared && address % page != mapped_apart;
  own.touch = share_of_stack(block.stack);
  return own.touch;
}

TouchedPages::Large TouchedPages::take(std::uint64_t address) {
  const auto found = live_.find(address);
  if (found == live_.end()) return {};
  const Large block = found->second;
  live_.erase(found);
  return block;
}

void TouchedPages::set_maker(std::uint64_t address, std::uint32_t lane, std::uint64_t operation) {
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  found->second.lane = lane;
  found->second.operation = operation;
}

void TouchedPages::settle(const Large& block, std::uint64_t kept_bytes, std::uint64_t now_ns,
                          PlanWriter& writer) {
  if (block.seen_ns > 0 && !is_settled(block, now_ns)) {
    forget(block);
  } else if (block.seen_ns > 0) {
    return writer.set_touch(block.lane, block.operation, share(block.touched, block.pages));
  }
  Unseen unseen{block, block.touch, most_pages_of(block, now_ns),
                static_cast<std::uint32_t>(changes_at_marks_.size() - 1)};
  const bool is_kept_whole = kept_bytes >= block.size;
  if (!is_kept_whole) {
    unseen.most_pages = std::min(unseen.most_pages, kept_bytes / page + 1);
    unseen.touch = touch_all;  // as far as it was kept
  }
  if (is_kept_whole && unseen_.size() < most_unseen && !of_stack_.contains(block.stack)) {
    unseen_.push_back(unseen);
  } else {
    settle_unseen(unseen, block.touch, writer);
  }
}

// At the last reading during its life the process had no more in memory, and later it had little time.
std::uint64_t TouchedPages::most_pages_of(const Large& block, std::uint64_t now_ns) noexcept {
  const auto& readings = source_.memory_samples();
  if (readings.empty() || block.is_cleared) return UINT64_MAX / page;
  while (next_reading_ < readings.size() && readings[next_reading_].time_ns < now_ns) ++next_reading_;
  std::uint64_t pages = 0;
  auto since_ns = block.written_ns;
  if (next_reading_ > 0 && readings[next_reading_ - 1].time_ns >= since_ns) {
    const auto& reading = readings[next_reading_ - 1];
    if (reading.resident_anonymous_bytes == 0) return UINT64_MAX / page;  // the reading failed
    pages = (reading.resident_anonymous_bytes + reading.swapped_bytes) / page + uncounted_pages;
    since_ns = reading.time_ns;
  }
  return pages + (now_ns - std::min(since_ns, now_ns)) / least_ns_a_page + 1;
}

void TouchedPages::settle_unseen(const Unseen& unseen, std::optional<std::uint8_t> written,
                                 PlanWriter& writer) {
  const Large& block = unseen.block;
  const auto pages = block.size / page + 1;
  auto touch = unseen.touch;
  if (unseen.most_pages * page < touched_bytes(block.size, touch)) touch = share(unseen.most_pages, pages);
  if (touch != written) writer.set_touch(block.lane, block.operation, touch);
  if (block.first_mark == unseen.next_mark) return;
  const auto touched_of = touched_bytes(block.size, touch);
  const auto untouched_of = block.size - touched_of;
  changes_at_marks_[block.first_mark].touched_bytes += touched_of;
  changes_at_marks_[block.first_mark].untouched_bytes += untouched_of;
  changes_at_marks_[unseen.next_mark].touched_bytes -= touched_of;
  changes_at_marks_[unseen.next_mark].untouched_bytes -= untouched_of;
}

TouchedPages::Guessed TouchedPages::guessed() const noexcept {
  Guessed now, most;
  for (const Guessed& change : changes_at_marks_) {
    now.touched_bytes += change.touched_bytes;
    now.untouched_bytes += change.untouched_bytes;
    most.touched_bytes = std::max(most.touched_bytes, now.touched_bytes);
    most.untouched_bytes = std::max(most.untouched_bytes, now.untouched_bytes);
  }
  return most;
}

void TouchedPages::finish(std::uint64_t end_ns, PlanWriter& writer) {
  for (const auto& [address, block] : live_) {
    settle(block, block.size, block.seen_ns > 0 ? block.seen_ns : end_ns, writer);  // its life goes on
  }
  live_.clear();
  for (Unseen& unseen : unseen_) {
    unseen.touch = share_of_stack(unseen.block.stack);
    // An earlier block of the same operation (reserve) may have changed it meanwhile.
    settle_unseen(unseen, std::nullopt, writer);
  }
  unseen_.clear();
}

std::uint8_t TouchedPages::share_of_stack(std::uint32_t stack) const noexcept {
  const auto known = of_stack_.find(stack);
  return known == of_stack_.end() ? touch_all : share(known->second.touched, known->second.pages);
}

std::uint8_t TouchedPages::share(std::uint64_t touched, std::uint64_t pages) noexcept {
  if (pages == 0 || touched >= pages) return touch_all;
  if (touched == 0) return 0;
  // The smallest value that gives as much.
  unsigned low = 1;
  unsigned high = touch_all - 1;
  while (low < high) {
    const auto middle = (low + high) / 2;
    if (touched_bytes(pages * page, static_cast<std::uint8_t>(middle)) < touched * page) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return static_cast<std::uint8_t>(low);
}

void TouchedPages::see(std::uint64_t touched, std::uint64_t now_ns, Large& block) {
  Sum& sum = of_stack_[block.stack];
  if (block.seen_ns == 0) {
    ++seen_blocks_;
    sum.pages += block.pages;
  }
  block.seen_ns = now_ns;
  if (touched <= block.touched) return;
  sum.touched += touched - block.touched;
  block.touched = touched;
}

// As if no scan had seen it.
void TouchedPages::forget(const Large& block) {
  const auto of_stack = of_stack_.find(block.stack);
  of_stack->second.pages -= block.pages;
  of_stack->second.touched -= block.touched;
  if (of_stack->second.pages == 0) of_stack_.erase(of_stack);
  --seen_blocks_;
}

// Precondition: it was seen. A block is mostly written to at its beginning: what was last seen in the first
// half of a short life may have been on the way to more. In a long one, scans follow what changes.
bool TouchedPages::is_settled(const Large& block, std::uint64_t end_ns) noexcept {
  const auto settled_ns = std::min((end_ns - block.made_ns) / 2, long_life_ns);
  return block.touched >= block.pages || block.seen_ns - block.made_ns >= settled_ns;
}

}  // namespace heapwright::replay
