// SPDX-License-Identifier: MIT
#include "analyze/residency.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "analyze/page_owners.hpp"

namespace heapwright::analyze {
namespace {

// A scan with less more live than a joined one says nothing new.
constexpr double worth_joining = 1.1;
// Allocations that are under way when a scan ends come to light later.
constexpr std::uint64_t longest_call_ns = 1'000'000;

}  // namespace

ResidencyJoin::ResidencyJoin(const order::Source& source, const Scope& scope)
    : source_(source), scope_(scope) {
  if (scope.weight.is_sampled()) {
    return;
  }
  const auto& scans = source.scans();
  for (std::size_t index = 0; index < scans.size(); ++index) {
    // One that ends before the next begins: the file may say anything.
    const bool is_apart = scans_.empty() || scans[index].begin_ns >= scans[scans_.back()].end_ns;
    if (scans[index].begin_ns < scope.from_ns || scans[index].end_ns >= scope.to_ns || !is_apart) {
      continue;
    }
    scans_.push_back(index);
    if (largest_ == SIZE_MAX || scans[index].resident_bytes > scans[largest_].resident_bytes) {
      largest_ = index;
    }
    last_ = index;
  }
  next_ns_ = scans_.empty() ? UINT64_MAX : scans[scans_.front()].begin_ns;
}

bool ResidencyJoin::is_worth(std::size_t scan, std::uint64_t live_bytes) const noexcept {
  return scan == largest_ || scan == last_ ||
         static_cast<double>(live_bytes) > worth_joining * static_cast<double>(most_live_bytes_);
}

void ResidencyJoin::go_to_next() noexcept {
  ++at_;
  next_ns_ = at_ < scans_.size() ? source_.scans()[scans_[at_]].begin_ns : UINT64_MAX;
}

void ResidencyJoin::pass(const Blocks& blocks, const Mappings& mappings, std::uint64_t live_bytes) {
  if (is_open_) {
    close();
  } else if (is_worth(scans_[at_], live_bytes)) {
    begin(blocks, mappings, live_bytes);
  } else {
    go_to_next();
  }
}

void ResidencyJoin::begin(const Blocks& blocks, const Mappings& mappings, std::uint64_t live_bytes) {
  blocks_.clear();
  blocks.for_each_live([&](const Slot& slot) {
    LiveBlock block{slot.address, slot.size, std::uint64_t{slot.size} + slot.excess, slot.stack};
    if ((slot.flags & slot_is_wide) != 0) {
      const auto& wide = blocks.wide(slot);
      block.size = wide.size;
      block.usable = wide.size + wide.excess;
    }
    blocks_.add(block);
  });
  own_ranges_ = mappings.ranges();
  live_bytes_ = live_bytes;
  is_open_ = true;
  next_ns_ = source_.scans()[scans_[at_]].end_ns + longest_call_ns;
  if (at_ + 1 < scans_.size()) {
    next_ns_ = std::min(next_ns_, source_.scans()[scans_[at_ + 1]].begin_ns);
  }
}

void ResidencyJoin::add(const order::Run<Piece>& run) {
  const auto* const rows = run.piece->rows();
  for (auto index = run.from; index < run.to; ++index) {
    const auto& row = rows[index];
    if ((row.flags & row_is_mapping) != 0) {
      continue;
    }
    const bool is_alive = (row.flags & row_acquires) != 0;
    BlockChange change;
    change.block.address = row.address;
    change.is_alive = is_alive;
    change.time_ns = row.time_ns;
    const auto duration_ns = std::min<std::uint64_t>(row.duration_ns, row.time_ns);
    change.call_begin_ns = is_alive ? row.time_ns - duration_ns : row.time_ns;
    change.call_end_ns = is_alive ? row.time_ns : row.time_ns + row.duration_ns;
    if (is_alive) {
      const bool is_wide = (row.flags & row_is_wide) != 0;
      change.block.size = is_wide ? run.piece->wide[row.size].size : row.size;
      change.block.usable = change.block.size + (is_wide ? run.piece->wide[row.size].excess : row.excess);
      change.block.stack = row.stack;
    }
    blocks_.add(change);
  }
}

// The rows of the scan's time have all come.
void ResidencyJoin::close() {
  const auto index = scans_[at_];
  is_open_ = false;
  go_to_next();
  const auto& chunk = source_.scans()[index];
  try {
    const auto scan = source_.decode(chunk);
    PageOwners owners(source_, source_.mappings_of(chunk), std::move(own_ranges_), chunk.begin_ns);
    blocks_.sort();
    ResidentPages pages(scan, std::move(owners), blocks_, scope_.sites);
    pages.facts.is_largest = index == largest_ ? 1 : 0;
    pages.facts.is_last = index == last_ ? 1 : 0;
    // The one with the most live so far takes the place of the one before.
    if (live_bytes_ > most_live_bytes_ || joined_.empty()) {
      for (auto& earlier : joined_) {
        earlier.facts.is_at_live_peak = 0;
      }
      std::erase_if(joined_, [](const auto& earlier) { return earlier.facts.is_largest == 0; });
      pages.facts.is_at_live_peak = 1;
      most_live_bytes_ = live_bytes_;
    }
    joined_.push_back(std::move(pages));
  } catch (const trace::TraceError&) {
    // A damaged scan is none.
  }
}

void ResidencyJoin::finish(const HeldPages& held, Facts& facts) {
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  const auto number_of = [&](std::string_view name) {
    const auto found = numbers.find(name);
    if (found != numbers.end()) {
      return found->second;
    }
    const auto number = static_cast<std::uint32_t>(numbers.size());
    numbers.emplace(name, number);
    facts.resident_names.emplace_back(name);
    return number;
  };
  for (auto& pages : joined_) {
    pages.finish(held);
    const auto scan = static_cast<std::uint32_t>(facts.residency.size());
    for (const auto& owner : pages.owners) {
      facts.resident_owners.push_back({scan, number_of(name_of(owner.kind)), number_of(owner.name),
                                       owner.site, owner.anonymous_bytes, owner.file_bytes});
    }
    for (auto pin : pages.pins) {
      pin.scan = scan;
      facts.pins.push_back(pin);
    }
    facts.residency.push_back(pages.facts);
  }
}

}  // namespace heapwright::analyze
