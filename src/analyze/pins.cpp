// SPDX-License-Identifier: MIT
#include "analyze/pins.hpp"

#include <algorithm>
#include <bit>

namespace heapwright::analyze {
namespace {

// The largest power of ten not above it; 0 below 1 ms, the resolution of allocation times.
constexpr std::uint64_t age_class_of(std::uint64_t age_ns) noexcept {
  std::uint64_t least_ns = 1'000'000;
  if (age_ns < least_ns) return 0;
  while (age_ns / least_ns >= 10) least_ns *= 10;
  return least_ns;
}

constexpr unsigned least_alignment_log2 = 6;
// Further sets are not counted: sites that share pages at random have many.
constexpr std::size_t most_sets_counted = 1 << 14;

std::uint64_t alone(const PinSite& of) { return std::max(of.pinned_bytes, of.held_bytes); }

}  // namespace

void Pins::add_block(std::uint32_t site, const LiveBlock& block, std::uint64_t now_ns) {
  const auto age_ns = now_ns - std::min(now_ns, block.born_ns);
  auto& pin = pins_[site];
  ++pin.sums.blocks;
  pin.sums.live_bytes += block.size;
  pin.sums.usable_bytes += block.usable;
  pin.sums.age_sum_ns += age_ns;
  pin.addresses |= block.address;
  for (unsigned place = 0; place < pin.aligned.size(); ++place) {
    const auto alignment = std::uint64_t{1} << (least_alignment_log2 + place);
    pin.aligned[place] += (block.usable + alignment - 1) & ~(alignment - 1);
  }
  ++pin.ages[age_class_of(age_ns)].blocks;
}

void Pins::add_page(std::uint32_t site, std::uint64_t free_bytes, std::uint64_t age_ns) {
  auto& pin = pins_[site];
  ++pin.sums.pages;
  pin.sums.pinned_bytes += free_bytes;
  auto& age = pin.ages[age_class_of(age_ns)];
  ++age.pages;
  age.pinned_bytes += free_bytes;
}

void SiteSet::add(std::uint32_t site) {
  const auto end = sites.begin() + count;
  const auto place = std::lower_bound(sites.begin(), end, site);
  if (place != end && *place == site) return;
  if (count == sites.size()) {
    has_more = true;
    return;
  }
  std::move_backward(place, end, end + 1);
  *place = site;
  ++count;
}

void Pins::add_shared_page(const SiteSet& sites, std::uint64_t free_bytes) {
  if (sites.has_more || free_bytes == 0) return;
  std::vector<std::uint32_t> key(sites.sites.begin(), sites.sites.begin() + sites.count);
  auto found = sets_.find(key);
  if (found == sets_.end()) {
    if (sets_.size() == most_sets_counted) return;
    found = sets_.emplace(std::move(key), Shared{}).first;
  }
  ++found->second.pages;
  found->second.pinned_bytes += free_bytes;
  for (const auto site : found->first) pins_[site].sums.shared_bytes += free_bytes;
}

void Pins::finish_sets(std::vector<PinSet>& sets, std::vector<std::uint64_t>& sites) const {
  std::vector<const decltype(sets_)::value_type*> order;
  order.reserve(sets_.size());
  for (const auto& entry : sets_) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.pinned_bytes > b->second.pinned_bytes;
  });
  order.resize(std::min(order.size(), most_sets));
  for (const auto* entry : order) {
    const auto first = static_cast<std::uint32_t>(sites.size());
    sites.insert(sites.end(), entry->first.begin(), entry->first.end());
    sets.push_back({0, first, static_cast<std::uint32_t>(entry->first.size()), entry->second.pages,
                    entry->second.pinned_bytes});
  }
}

void Pins::finish(const std::unordered_map<std::uint32_t, std::uint64_t>& held_by, std::vector<PinSite>& pins,
                  std::vector<PinAge>& ages) const {
  for (const auto& [site, pin] : pins_) {
    auto row = pin.sums;
    row.site = site;
    const auto alignment_log2 = static_cast<unsigned>(std::countr_zero(pin.addresses));
    if (alignment_log2 >= least_alignment_log2) {
      row.aligned_bytes =
          pin.aligned[std::min<std::size_t>(alignment_log2 - least_alignment_log2, pin.aligned.size() - 1)];
    }
    const auto found = held_by.find(site);
    row.held_bytes = found == held_by.end() ? 0 : found->second;
    if (alone(row) != 0 || row.shared_bytes != 0) pins.push_back(row);
  }
  std::sort(pins.begin(), pins.end(), [](const PinSite& a, const PinSite& b) {
    const auto of_a = std::max(alone(a), a.shared_bytes);
    const auto of_b = std::max(alone(b), b.shared_bytes);
    return of_a != of_b ? of_a > of_b : a.site < b.site;
  });
  if (pins.size() > most_sites) {
    pins.resize(most_sites);
  }
  std::stable_sort(pins.begin(), pins.end(),
                   [](const PinSite& a, const PinSite& b) { return alone(a) > alone(b); });
  for (const auto& pin : pins) {
    for (auto [at_least_ns, age] : pins_.at(pin.site).ages) {
      age.site = pin.site;
      age.at_least_ns = at_least_ns;
      ages.push_back(age);
    }
  }
}

}  // namespace heapwright::analyze
