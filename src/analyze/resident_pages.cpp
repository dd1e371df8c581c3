// SPDX-License-Identifier: MIT
#include "analyze/resident_pages.hpp"

#include <algorithm>

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t page_bytes = HeldPages::page_bytes;
constexpr std::uint64_t large_bytes = std::uint64_t{64} << 10;
// The trace's times are rounded down to a multiple of this.
constexpr std::uint64_t time_quantum_ns = 16;

constexpr std::uint64_t overlap(std::uint64_t begin, std::uint64_t end, std::uint64_t from,
                                std::uint64_t to) noexcept {
  const auto first = std::max(begin, from);
  const auto last = std::min(end, to);
  return last > first ? last - first : 0;
}

}  // namespace

ResidentPages::ResidentPages(const trace::ResidencyScan& scan, PageOwners page_owners,
                             const BlocksOverTime& blocks, const SiteMap& sites, bool is_glibc,
                             std::uint64_t cell_bytes)
    : cells(cell_bytes),
      owners_(std::move(page_owners)),
      sites_(&sites),
      heap_parts_(owners_.mappings(), sites, is_glibc) {
  facts.is_whole = scan.is_whole ? 1 : 0;
  facts.kernel_before_bytes = scan.before.resident_bytes();
  facts.kernel_after_bytes = scan.after.resident_bytes();
  if (!scan.windows.empty()) {
    facts.time_ns = (scan.windows.front().begin_ns + scan.windows.back().end_ns) / 2;
    facts.duration_ns = scan.windows.back().end_ns - scan.windows.front().begin_ns;
  }
  for (const auto& window : scan.windows) {
    add_window(scan, window, blocks);
  }
}

void ResidentPages::add_window(const trace::ResidencyScan& scan, const trace::ScanWindow& window,
                               const BlocksOverTime& blocks) {
  blocks.live_in(window.begin, window.end, (window.begin_ns + window.end_ns) / 2, live_);
  scanned_at_ns_ = window.begin_ns;
  next_live_ = 0;
  uses_.clear();
  const auto first_empty = empty_.size();
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
  add_gaps(first_empty);
  const auto first_own = std::partition_point(
      live_.begin(), live_.end(), [&](const LiveBlock& block) { return block.address < window.begin; });
  heap_parts_.add_window(uses_, {first_own, live_.end()});
}

// Each block is added in the window in which it begins.
void ResidentPages::add_blocks(const trace::ScanWindow& window) {
  auto own = std::partition_point(owners_.own().begin(), owners_.own().end(),
                                  [&](const OwnRange& range) { return range.end <= window.begin; });
  for (const auto& block : live_) {
    if (block.address < window.begin) {
      continue;
    }
    own = std::find_if(own, owners_.own().end(),
                       [&](const OwnRange& range) { return range.end > block.address; });
    if (own != owners_.own().end() && own->begin <= block.address) own_with_blocks_.insert(own->begin);
    const auto site = sites_->site_of(block.stack);
    pins_.add_block(site, block, window.begin_ns);
    if (block.size >= large_bytes) {
      auto& large = large_[site];
      ++large.blocks;
      large.live_bytes += block.size;
    }
    ++facts.live_blocks;
    facts.live_bytes += block.size;
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
    const auto use = page_use(first_page);
    if (use.used_bytes != 0) {
      add_empty(empty_from, first_page);
      uses_.push_back(use);
      empty_from = first_page + page_bytes;
    }
    page = first_page + page_bytes;
  }
  add_empty(empty_from, run.end);
}

// Computes the gaps of the window's empty runs, from this one on, and of earlier runs that no block has ended
// yet.
void ResidentPages::add_gaps(std::size_t first_empty) {
  auto next = first_empty;
  for (const auto& block : live_) {
    for (; next < empty_.size() && empty_[next].begin < block.address; ++next) {
      empty_[next].gap_begin = last_live_end_;
    }
    for (; first_open_ < next; ++first_open_) {
      empty_[first_open_].gap_end = block.address & ~(page_bytes - 1);
    }
    last_live_end_ = std::max(last_live_end_, (block.end() + page_bytes - 1) & ~(page_bytes - 1));
  }
  for (; next < empty_.size(); ++next) {
    empty_[next].gap_begin = last_live_end_;
  }
}

PageUse ResidentPages::page_use(std::uint64_t page) {
  const auto page_end = page + page_bytes;
  std::uint64_t requested = 0;
  std::uint64_t used = 0;
  auto edge = page;  // blocks may overlap if a release was missed
  std::uint32_t site = 0;
  auto oldest_ns = scanned_at_ns_;
  SiteSet sites;
  bool is_mapped = false;
  for (auto index = next_live_; index < live_.size() && live_[index].address < page_end; ++index) {
    const auto& block = live_[index];
    const auto from = std::max(edge, block.address);
    const auto bytes = overlap(from, block.end(), page, page_end);
    if (bytes == 0) {
      continue;
    }
    const auto own = sites_->site_of(block.stack);
    if (used == 0 || own != site) sites.add(own);
    site = own;
    oldest_ns = std::min(oldest_ns, block.born_ns);
    is_mapped = heap_parts_.is_mapped(block);
    used += bytes;
    cells.add_block(page, block.address, own, block.stack, bytes);
    const auto own_requested =
        overlap(from, block.address + std::min(block.size, block.usable), page, page_end);
    requested += own_requested;
    if (block.size >= large_bytes) {
      large_[own].untouched_bytes += own_requested;
    }
    edge = block.end();
  }
  if (used == 0) {
    return {};
  }
  resident_requested_ += requested;
  facts.rounding_bytes += used - requested;
  facts.partly_free_bytes += page_bytes - used;
  cells.end_page(page, page_bytes, page_bytes - used);
  if (sites.count == 1) {
    pins_.add_page(site, page_bytes - used, scanned_at_ns_ - oldest_ns);
  } else {
    pins_.add_shared_page(sites, page_bytes - used);
  }
  return {page, page_end, used, is_mapped};
}

void ResidentPages::add_empty(std::uint64_t begin, std::uint64_t end) {
  while (begin < end) {
    std::uint64_t until = 0;
    const auto owner = owners_.at(begin, until);
    const auto to = std::min(end, until);
    empty_.push_back({begin, to, owner, 0, UINT64_MAX});
    if (owner.kind == OwnerKind::heap || owner.kind == OwnerKind::anonymous) {
      uses_.push_back({begin, to, 0, false});
    }
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
  const auto site = sites_->site_of(owner.stack);
  auto& row = rows_.try_emplace({owner.kind, owner.name, site}, Owner{owner.kind, owner.name, site, 0, 0})
                  .first->second;
  row.anonymous_bytes += anonymous_bytes;
  row.file_bytes += file_bytes;
  facts.other_bytes += anonymous_bytes + file_bytes;
}

bool ResidentPages::is_of_heap(const EmptyRun& run, const HeldPages& held) {
  if (run.owner.kind != OwnerKind::anonymous) {
    return run.owner.kind == OwnerKind::heap;
  }
  const auto [found, is_new] = has_held_.try_emplace(run.owner.begin, false);
  if (is_new) {
    found->second = held.has_any(run.owner.begin, run.owner.end);
  }
  return found->second;
}

// A program's mapping at a former heap address belongs to the program, unless an allocator or a pool in it
// has blocks.
bool ResidentPages::may_be_free(const EmptyRun& run) const {
  return run.owner.kind != OwnerKind::own_mapping || own_with_blocks_.contains(run.owner.own_begin);
}

std::set<std::uint32_t> ResidentPages::stacks_with_blocks() const {
  std::set<std::uint32_t> stacks;
  for (const auto& range : owners_.own()) {
    if (own_with_blocks_.contains(range.begin)) stacks.insert(range.stack);
  }
  return stacks;
}

void ResidentPages::settle_empty(const EmptyRun& run, bool is_of_heap, const HeldPages& held,
                                 const HeldPages& large) {
  const bool is_free = may_be_free(run);
  std::uint64_t free_bytes = 0;
  std::uint64_t large_bytes = 0;
  std::uint64_t untouched_bytes = 0;
  auto range = std::partition_point(untouched_huge.begin(), untouched_huge.end(),
                                    [&](const PageRange& of) { return of.end <= run.begin; });
  for (auto page = run.begin; page < run.end; page += page_bytes) {
    const bool has_held = is_free && held.has(page);
    if (has_held) cells.add_free_page(page, page_bytes);
    range += range != untouched_huge.end() && range->end <= page ? 1 : 0;
    if (range != untouched_huge.end() && range->begin <= page) {
      untouched_bytes += page_bytes;
      continue;
    }
    free_bytes += has_held ? page_bytes : 0;
    large_bytes += has_held && large.has(page) ? page_bytes : 0;
  }
  facts.free_page_bytes += free_bytes;
  const auto rest = run.end - run.begin - free_bytes;
  if (is_of_heap) {
    facts.allocator_bytes += rest;
    facts.huge_unused_bytes += untouched_bytes;
  } else if (rest != 0) {
    auto owner = run.owner;
    if (owner.has_guard) owner.kind = OwnerKind::thread_stack;
    add_owned(owner, rest, 0);
  }
  const auto gap = std::min(run.gap_end, run.owner.end) - std::max(run.gap_begin, run.owner.begin);
  heap_parts_.settle_empty(run.begin, {free_bytes, large_bytes, is_of_heap ? rest : 0, gap});
}

void ResidentPages::finish(const HeldPages& held, const HeldPages& large) {
  for (const auto& run : empty_) {
    settle_empty(run, is_of_heap(run, held), held, large);
  }
  parts = heap_parts_.finish();
  facts.untouched_bytes = facts.live_bytes - std::min(facts.live_bytes, resident_requested_);
  for (const auto& entry : rows_) {
    owners.push_back(entry.second);
  }
  std::stable_sort(owners.begin(), owners.end(), [](const Owner& a, const Owner& b) {
    return a.anonymous_bytes + a.file_bytes > b.anonymous_bytes + b.file_bytes;
  });
  pins_.finish(heap_parts_.held_bytes(), pins, pin_ages);
  pins_.finish_sets(pin_sets, pin_set_sites);
  finish_untouched();
  empty_ = {};
}

void ResidentPages::finish_untouched() {
  for (auto& [site, large] : large_) {
    large.site = site;
    large.untouched_bytes = large.live_bytes - std::min(large.live_bytes, large.untouched_bytes);
    if (large.untouched_bytes != 0) {
      untouched.push_back(large);
    }
  }
  std::sort(untouched.begin(), untouched.end(), [](const auto& a, const auto& b) {
    return a.untouched_bytes != b.untouched_bytes ? a.untouched_bytes > b.untouched_bytes : a.site < b.site;
  });
  untouched.resize(std::min(untouched.size(), Pins::most_sites));
}

}  // namespace heapwright::analyze
