// SPDX-License-Identifier: MIT
#include "analyze/resident_pages.hpp"

#include <algorithm>

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t page_bytes = HeldPages::page_bytes;
constexpr std::size_t most_pins = 64;
// The trace's times are cut down to so much.
constexpr std::uint64_t time_quantum_ns = 16;

constexpr std::uint64_t overlap(std::uint64_t begin, std::uint64_t end, std::uint64_t from,
                                std::uint64_t to) noexcept {
  const auto first = std::max(begin, from);
  const auto last = std::min(end, to);
  return last > first ? last - first : 0;
}

}  // namespace

ResidentPages::ResidentPages(const trace::ResidencyScan& scan, PageOwners page_owners,
                             const BlocksOverTime& blocks, const SiteMap& sites)
    : owners_(std::move(page_owners)), sites_(&sites) {
  facts.is_whole = scan.is_whole ? 1 : 0;
  facts.kernel_before_bytes = scan.before.resident_bytes();
  facts.kernel_after_bytes = scan.after.resident_bytes();
  if (!scan.windows.empty()) {
    facts.time_ns = (scan.windows.front().begin_ns + scan.windows.back().end_ns) / 2;
    facts.duration_ns = scan.windows.back().end_ns - scan.windows.front().begin_ns;
  }
  for (const auto& mapping : owners_.mappings()) {
    if (mapping.name == "[heap]") {
      heap_begin_ = mapping.begin;
      heap_end_ = mapping.end;
    }
  }
  for (const auto& window : scan.windows) {
    add_window(scan, window, blocks);
  }
  hold_below_top(scan);
}

void ResidentPages::add_window(const trace::ResidencyScan& scan, const trace::ScanWindow& window,
                               const BlocksOverTime& blocks) {
  blocks.live_in(window.begin, window.end, (window.begin_ns + window.end_ns) / 2, live_);
  next_live_ = 0;
  add_blocks(window);
  facts.ambiguous_bytes += blocks.uncertain_bytes(
      window.begin, window.end, window.begin_ns - std::min(window.begin_ns, time_quantum_ns),
      window.end_ns + time_quantum_ns);
  for (std::uint32_t index = 0; index < window.run_count; ++index) {
    const auto& run = scan.runs[window.first_run + index];
    const auto bytes = run.end - run.begin;
    if (run.kind == trace::PageKind::swapped) {
      facts.swapped_bytes += bytes;
      continue;
    }
    facts.resident_bytes += bytes;
    facts.huge_bytes += run.is_huge ? bytes : 0;
    if (run.kind == trace::PageKind::file) {
      add_file(run);
    } else {
      add_anonymous(run);
    }
  }
}

// Each block in the window in which it begins.
void ResidentPages::add_blocks(const trace::ScanWindow& window) {
  for (const auto& block : live_) {
    if (block.address < window.begin) {
      continue;
    }
    const auto site = sites_->site_of(block.stack);
    auto& pin = pins_[site];
    ++pin.blocks;
    pin.live_bytes += block.size;
    ++facts.live_blocks;
    facts.live_bytes += block.size;
    if (block.address < heap_begin_ || block.address >= heap_end_) {
      continue;
    }
    if (!top_.has_block || top_.site != site) {
      top_ = {site, true, std::max(top_.last_end, heap_begin_), 0, 0};
    }
    top_.own_bytes += block.usable;
    top_.last_end = block.end();
  }
}

void ResidentPages::add_anonymous(const trace::PageRun& run) {
  auto empty_from = run.begin;
  for (auto page = run.begin; page < run.end;) {
    while (next_live_ < live_.size() && live_[next_live_].end() <= page) {
      ++next_live_;
    }
    if (next_live_ == live_.size() || live_[next_live_].address >= run.end) {
      break;
    }
    const auto first_page = std::max(page, live_[next_live_].address & ~(page_bytes - 1));
    if (add_page(first_page)) {
      add_empty(empty_from, first_page);
      empty_from = first_page + page_bytes;
    }
    page = first_page + page_bytes;
  }
  add_empty(empty_from, run.end);
}

bool ResidentPages::add_page(std::uint64_t page) {
  const auto page_end = page + page_bytes;
  std::uint64_t requested = 0;
  std::uint64_t used = 0;
  auto edge = page;  // blocks may overlap where a release was missed
  std::uint32_t site = 0;
  bool is_shared = false;
  for (auto index = next_live_; index < live_.size() && live_[index].address < page_end; ++index) {
    const auto& block = live_[index];
    const auto from = std::max(edge, block.address);
    const auto bytes = overlap(from, block.end(), page, page_end);
    if (bytes == 0) {
      continue;
    }
    const auto own = sites_->site_of(block.stack);
    is_shared |= used != 0 && own != site;
    site = own;
    used += bytes;
    requested += overlap(from, block.address + std::min(block.size, block.usable), page, page_end);
    edge = block.end();
  }
  if (used == 0) {
    return false;
  }
  resident_requested_ += requested;
  facts.rounding_bytes += used - requested;
  facts.partly_free_bytes += page_bytes - used;
  if (!is_shared) {
    auto& pin = pins_[site];
    ++pin.pages;
    pin.pinned_bytes += page_bytes - used;
  }
  return true;
}

void ResidentPages::add_empty(std::uint64_t begin, std::uint64_t end) {
  while (begin < end) {
    std::uint64_t until = 0;
    const auto owner = owners_.at(begin, until);
    const auto to = std::min(end, until);
    empty_.push_back({begin, to, owner});
    begin = to;
  }
}

void ResidentPages::add_file(const trace::PageRun& run) {
  for (auto begin = run.begin; begin < run.end;) {
    std::uint64_t until = 0;
    const auto owner = owners_.at(begin, until);
    const auto to = std::min(run.end, until);
    add_owned(owner, 0, to - begin);
    begin = to;
  }
}

void ResidentPages::add_owned(const PageOwner& owner, std::uint64_t anonymous_bytes,
                              std::uint64_t file_bytes) {
  const auto site = owner.kind == OwnerKind::own_mapping ? sites_->site_of(owner.stack) : 0;
  auto& row = rows_.try_emplace({owner.kind, owner.name, site}, Owner{owner.kind, owner.name, site, 0, 0})
                  .first->second;
  row.anonymous_bytes += anonymous_bytes;
  row.file_bytes += file_bytes;
  facts.other_bytes += anonymous_bytes + file_bytes;
}

// What lies above the last block of any other site could be given back if the top's site had no
// blocks there.
void ResidentPages::hold_below_top(const trace::ResidencyScan& scan) {
  if (!top_.has_block) {
    return;
  }
  std::uint64_t resident = 0;
  const auto from = (top_.begin + page_bytes - 1) & ~(page_bytes - 1);
  for (const auto& run : scan.runs) {
    if (run.kind == trace::PageKind::anonymous) {
      resident += overlap(run.begin, run.end, from, top_.last_end);
    }
  }
  pins_[top_.site].held_bytes = resident - std::min(resident, top_.own_bytes);
}

void ResidentPages::finish(const HeldPages& held) {
  std::map<std::uint64_t, bool> is_heap;  // by the begin of a mapping; asked once
  for (const auto& run : empty_) {
    std::uint64_t free_bytes = 0;
    for (auto page = run.begin; page < run.end; page += page_bytes) {
      free_bytes += held.has(page) ? page_bytes : 0;
    }
    facts.free_page_bytes += free_bytes;
    const auto rest = run.end - run.begin - free_bytes;
    if (rest == 0) {
      continue;
    }
    bool is_of_heap = run.owner.kind == OwnerKind::heap;
    if (run.owner.kind == OwnerKind::anonymous) {
      const auto [found, is_new] = is_heap.try_emplace(run.owner.begin, false);
      if (is_new) {
        found->second = held.has_any(run.owner.begin, run.owner.end);
      }
      is_of_heap = found->second;
    }
    if (is_of_heap) {
      facts.allocator_bytes += rest;
    } else {
      add_owned(run.owner, rest, 0);
    }
  }
  facts.untouched_bytes = facts.live_bytes - std::min(facts.live_bytes, resident_requested_);
  for (const auto& entry : rows_) {
    owners.push_back(entry.second);
  }
  std::stable_sort(owners.begin(), owners.end(), [](const Owner& a, const Owner& b) {
    return a.anonymous_bytes + a.file_bytes > b.anonymous_bytes + b.file_bytes;
  });
  for (const auto& [site, pin] : pins_) {
    if (pin.pinned_bytes != 0 || pin.held_bytes != 0) {
      pins.push_back({0, site, pin.blocks, pin.live_bytes, pin.pages, pin.pinned_bytes, pin.held_bytes});
    }
  }
  std::sort(pins.begin(), pins.end(), [](const PinSite& a, const PinSite& b) {
    const auto of_a = std::max(a.pinned_bytes, a.held_bytes);
    const auto of_b = std::max(b.pinned_bytes, b.held_bytes);
    return of_a != of_b ? of_a > of_b : a.site < b.site;
  });
  if (pins.size() > most_pins) {
    pins.resize(most_pins);
  }
  empty_ = {};
}

}  // namespace heapwright::analyze
