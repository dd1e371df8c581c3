// SPDX-License-Identifier: MIT
#include "analyze/residency.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyze/facts/heap_parts.hpp"
#include "analyze/facts/mappings.hpp"
#include "analyze/facts/page_cells.hpp"
#include "analyze/page_owners.hpp"

namespace heapwright::analyze {
namespace {

// A scan must exceed a joined one by this factor to be worth joining.
constexpr double worth_joining = 1.1;
constexpr std::uint64_t least_free_bytes = std::uint64_t{1} << 20;
// Allocations in progress when a scan ends are seen later.
constexpr std::uint64_t longest_call_ns = 1'000'000;
// Limits of scans for pictures only: their number, and the total number of copied blocks.
constexpr std::size_t most_drawn = 32;
constexpr std::uint64_t most_blocks_copied = 20'000'000;
constexpr std::uint64_t least_cell_bytes = 16384;
constexpr std::uint64_t most_cells = 8192;

bool is_more(std::uint64_t bytes, std::uint64_t than, std::uint64_t least) noexcept {
  return bytes >= least && static_cast<double>(bytes) > worth_joining * static_cast<double>(than);
}

// Each must end before the next begins, which a damaged file may violate.
std::vector<std::size_t> scans_within(const order::Source& source, const Scope& scope) {
  std::vector<std::size_t> within;
  const auto& scans = source.scans();
  for (std::size_t index = 0; index < scans.size() && !scope.weight.is_sampled(); ++index) {
    const bool is_apart = within.empty() || scans[index].begin_ns >= scans[within.back()].end_ns;
    if (scans[index].begin_ns >= scope.from_ns && scans[index].end_ns < scope.to_ns && is_apart) {
      within.push_back(index);
    }
  }
  return within;
}

}  // namespace

ResidencyJoin::ResidencyJoin(const order::Source& source, const Scope& scope)
    : source_(source),
      scope_(scope),
      scans_(scans_within(source, scope)),
      touched_(source, scans_),
      own_memory_(source, scans_) {
  if (scope.weight.is_sampled()) {
    return;
  }
  const auto& scans = source.scans();
  for (const auto index : scans_) {
    if (largest_ == SIZE_MAX || scans[index].resident_bytes > scans[largest_].resident_bytes) {
      largest_ = index;
    }
    last_ = index;
    if (scans[index].begin_ns <= scope.at_ns) {
      before_asked_ = index;
    } else if (after_asked_ == SIZE_MAX) {
      after_asked_ = index;
    }
  }
  if (scope.at_ns == UINT64_MAX) before_asked_ = after_asked_ = SIZE_MAX;
  next_ns_ = scans_.empty() ? UINT64_MAX : scans[scans_.front()].begin_ns;
  if (scope.wants_activity && !scans_.empty()) {
    cell_bytes_ = least_cell_bytes;
    while (scans[largest_].resident_bytes / cell_bytes_ > most_cells) {
      cell_bytes_ *= 2;
    }
  }
}

// Evenly spread over the available scans.
bool ResidencyJoin::is_drawn() const noexcept {
  const auto place = [&](std::size_t at) { return at * most_drawn / scans_.size(); };
  return cell_bytes_ != 0 && blocks_copied_ < most_blocks_copied &&
         (at_ == 0 || place(at_) != place(at_ - 1));
}

ResidencyJoin::Worth ResidencyJoin::worth_of(std::size_t scan, std::uint64_t live_bytes) const {
  const auto resident = source_.scans()[scan].resident_bytes;
  return {live_bytes, resident - std::min(resident, live_bytes)};
}

bool ResidencyJoin::is_worth(std::size_t scan, const Worth& worth) const noexcept {
  return is_wanted(scan) || is_more(worth.live_bytes, most_.live_bytes, 0) ||
         is_more(worth.free_bytes, most_.free_bytes, least_free_bytes);
}

void ResidencyJoin::go_to_next() noexcept {
  ++at_;
  next_ns_ = at_ < scans_.size() ? source_.scans()[scans_[at_]].begin_ns : UINT64_MAX;
}

void ResidencyJoin::pass(const Blocks& blocks, const Mappings& mappings, std::uint64_t live_bytes) {
  if (is_open_) {
    close();
    return;
  }
  own_memory_.look_at(scans_[at_], mappings);
  const bool joins = is_worth(scans_[at_], worth_of(scans_[at_], live_bytes)) || is_drawn();
  if (touched_.is_wanted()) touched_.look_at(scans_[at_], joins);
  if (joins) {
    begin(blocks, mappings, live_bytes);
  } else {
    go_to_next();
  }
}

void ResidencyJoin::begin(const Blocks& blocks, const Mappings& mappings, std::uint64_t live_bytes) {
  const auto worth = worth_of(scans_[at_], live_bytes);
  const bool has_most_live = worth.live_bytes >= most_.live_bytes;
  const bool has_most_free = worth.free_bytes >= std::max(most_.free_bytes, least_free_bytes);
  const bool is_overtaken = (!has_most_live_ || has_most_live) && (!has_most_free_ || has_most_free);
  // The last one may be from the program's end, where all is freed: it displaces none.
  if (!is_overtaken || scans_[at_] == last_ ||
      (copied_ != SIZE_MAX && (cell_bytes_ != 0 || is_wanted(copied_)))) {
    join();
  }
  copied_worth_ = worth;
  has_most_live_ = has_most_live;
  has_most_free_ = has_most_free;
  most_ = {std::max(most_.live_bytes, worth.live_bytes), std::max(most_.free_bytes, worth.free_bytes)};
  copied_ = scans_[at_];
  blocks_.clear();
  std::size_t count = 0;
  blocks.for_each_live([&](const Slot&) { ++count; });
  blocks_.reserve(count);
  blocks_copied_ += count;
  blocks.for_each_live([&](const Slot& slot) {
    LiveBlock block{slot.address, slot.size, std::uint64_t{slot.size} + slot.excess, slot.stack,
                    slot.time_ns};
    if ((slot.flags & slot_is_wide) != 0) {
      const auto& wide = blocks.wide(slot);
      block.size = wide.size;
      block.usable = wide.size + wide.excess;
    }
    blocks_.add(block);
  });
  own_ranges_ = mappings.ranges();
  is_open_ = true;
  next_ns_ = source_.scans()[scans_[at_]].end_ns + longest_call_ns;
  if (at_ + 1 < scans_.size()) {
    next_ns_ = std::min(next_ns_, source_.scans()[scans_[at_ + 1]].begin_ns);
  }
}

void ResidencyJoin::add(const order::Run<Piece>& run, const Blocks& blocks) {
  if (touched_.is_wanted()) touched_.add(run, blocks);
  if (is_open_) add_changes(run);
}

void ResidencyJoin::add_changes(const order::Run<Piece>& run) {
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

// All rows of the scan's time have arrived.
void ResidencyJoin::close() {
  is_open_ = false;
  if (touched_.is_wanted()) untouched_ = touched_.untouched();
  go_to_next();
}

void ResidencyJoin::join() {
  if (copied_ == SIZE_MAX) {
    return;
  }
  const auto index = std::exchange(copied_, SIZE_MAX);
  const auto& chunk = source_.scans()[index];
  try {
    const auto scan = source_.decode(chunk);
    PageOwners owners(source_, source_.mappings_of(chunk), std::move(own_ranges_), chunk.begin_ns);
    blocks_.sort();
    ResidentPages pages(scan, std::move(owners), blocks_, scope_.sites, scope_.is_glibc, cell_bytes_);
    pages.untouched_huge = std::move(untouched_);
    pages.facts.is_largest = index == largest_ ? 1 : 0;
    pages.facts.is_last = index == last_ ? 1 : 0;
    pages.facts.is_before_asked = index == before_asked_ ? 1 : 0;
    pages.facts.is_after_asked = index == after_asked_ ? 1 : 0;
    joined_.push_back({std::move(pages), index, copied_worth_});
  } catch (const trace::TraceError&) {
    // A damaged scan is ignored.
  }
}

// The maxima, and all requested scans.
void ResidencyJoin::choose() {
  auto last = joined_.end();
  const auto mark = [&](std::uint64_t Worth::*bytes, std::uint64_t least, std::uint8_t Residency::*flag) {
    const auto most = std::max_element(joined_.begin(), last, [&](const Joined& a, const Joined& b) {
      return a.worth.*bytes < b.worth.*bytes;
    });
    if (most != last && most->worth.*bytes >= least) most->pages.facts.*flag = 1;
  };
  mark(&Worth::live_bytes, 0, &Residency::is_at_live_peak);
  mark(&Worth::free_bytes, least_free_bytes, &Residency::is_most_free);
  if (!joined_.empty() && joined_.back().scan == last_) --last;
  mark(&Worth::free_bytes, least_free_bytes, &Residency::is_most_free_before_last);
  for (auto& one : joined_) {
    const auto& facts = one.pages.facts;
    one.is_reported = facts.is_at_live_peak != 0 || facts.is_most_free != 0 ||
                      facts.is_most_free_before_last != 0 || is_wanted(one.scan);
  }
  if (cell_bytes_ == 0) {
    std::erase_if(joined_, [](const Joined& one) { return !one.is_reported; });
  }
}

void ResidencyJoin::add_facts(const ResidentPages& pages, const Number& number_of, Facts& facts) {
  const auto scan = static_cast<std::uint32_t>(facts.residency.size());
  for (const auto& owner : pages.owners) {
    facts.resident_owners.push_back({scan, number_of(name_of(owner.kind)), number_of(owner.name), owner.site,
                                     owner.anonymous_bytes, owner.file_bytes});
  }
  for (auto pin : pages.pins) {
    pin.scan = scan;
    facts.pins.push_back(pin);
  }
  for (auto age : pages.pin_ages) {
    age.scan = scan;
    facts.pin_ages.push_back(age);
  }
  for (auto set : pages.pin_sets) {
    set.scan = scan;
    set.first += static_cast<std::uint32_t>(facts.pin_set_sites.size());
    facts.pin_sets.push_back(set);
  }
  facts.pin_set_sites.insert(facts.pin_set_sites.end(), pages.pin_set_sites.begin(),
                             pages.pin_set_sites.end());
  for (auto row : pages.untouched) {
    row.scan = scan;
    facts.untouched.push_back(row);
  }
  for (const auto& row : pages.parts) {
    const auto number = static_cast<std::uint32_t>(facts.heap_parts.size());
    auto& part = facts.heap_parts.emplace_back(row.part);
    part.scan = scan;
    part.kind = number_of(name_of(row.kind));
    for (auto holder : row.holders) {
      holder.scan = scan;
      holder.part = number;
      facts.part_holders.push_back(holder);
    }
  }
  facts.residency.push_back(pages.facts);
}

void ResidencyJoin::add_drawn(ResidentPages& pages, const Number& number_of, Facts& facts) {
  const auto scan = static_cast<std::uint32_t>(facts.scans.size());
  for (const auto& owner : pages.owners) {
    facts.scan_owners.push_back({scan, number_of(name_of(owner.kind)), number_of(owner.name), owner.site,
                                 owner.anonymous_bytes, owner.file_bytes});
  }
  pages.cells.finish(scan, facts.page_cells, facts.path_pins);
  facts.scans.push_back(pages.facts);
}

void ResidencyJoin::finish(const HeldPages& held, const HeldPages& large, Facts& facts) {
  join();
  choose();
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
  std::set<std::uint32_t> of_heaps;
  for (auto& one : joined_) {
    one.pages.finish(held, large);
    of_heaps.merge(one.pages.stacks_with_blocks());
    if (cell_bytes_ != 0) {
      add_drawn(one.pages, number_of, facts);
    }
    if (one.is_reported) {
      add_facts(one.pages, number_of, facts);
    }
  }
  facts.cell_bytes = cell_bytes_;
  facts.own_moments = own_memory_.finish(scope_.sites, of_heaps);
}

}  // namespace heapwright::analyze
