// SPDX-License-Identifier: MIT
#include "analyze/refaults.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "analyze/facts.hpp"
#include "analyze/mmap_threshold.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t most_page = (std::uint64_t{1} << 57) / page_bytes;
// Their states take 400 MB; pages beyond are left out.
constexpr std::size_t most_pages = std::size_t{1} << 24;
constexpr std::size_t most_rows = 256;

bool gives_back(trace::EventKind kind, const MappingRow& row) noexcept {
  using trace::EventKind;
  const bool is_advice = row.detail == MADV_DONTNEED || row.detail == MADV_FREE || row.detail == MADV_REMOVE;
  return kind == EventKind::munmap_ || (kind == EventKind::madvise_ && is_advice);
}

// Older traces do not have the flags.
bool maps_file(trace::EventKind kind, const MappingRow& row) noexcept {
  const std::uint64_t flags = row.detail >> 8U;
  return kind == trace::EventKind::mmap_ && flags != 0 && (flags & MAP_ANONYMOUS) == 0;
}

}  // namespace

RefaultJoin::RefaultJoin(const order::Source& source, const Scope& scope) : scope_(scope) {
  if (scope.weight.is_sampled()) return;
  for (const auto& run : source.refaults()) {
    const bool is_possible = run.page < most_page && run.pages <= most_pages && run.pages != 0;
    if (is_possible && run.time_ns < scope.to_ns) runs_.push_back(run);
  }
  std::stable_sort(runs_.begin(), runs_.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  make_ranges();
}

void RefaultJoin::make_ranges() {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
  all.reserve(runs_.size());
  for (const auto& run : runs_) all.emplace_back(run.page, run.page + run.pages);
  std::sort(all.begin(), all.end());
  std::size_t pages = 0;
  for (const auto& [begin, end] : all) {
    if (!ranges_.empty() && begin <= ranges_.back().end) {
      const auto more = end - std::min(end, ranges_.back().end);
      if (pages + more > most_pages) continue;
      ranges_.back().end += more;
      pages += more;
    } else if (pages + (end - begin) <= most_pages) {
      ranges_.push_back({begin, end, pages});
      pages += end - begin;
    }
  }
  states_.resize(pages);
}

// Calls visit(state's index) for each page of the bytes that is in a range.
template <class Visit>
void RefaultJoin::for_pages(std::uint64_t address, std::uint64_t bytes, const Visit& visit) {
  const auto first = address / page_bytes;
  const auto last = std::min((address + std::max<std::uint64_t>(bytes, 1) - 1) / page_bytes, most_page);
  auto at = last_range_;
  if (first < ranges_[at].begin || first >= ranges_[at].end) {
    at = static_cast<std::size_t>(
        std::partition_point(ranges_.begin(), ranges_.end(), [&](const Range& r) { return r.end <= first; }) -
        ranges_.begin());
  }
  for (; at < ranges_.size() && ranges_[at].begin <= last; ++at) {
    last_range_ = at;
    const auto& range = ranges_[at];
    const auto end = std::min(range.end, last + 1);
    for (auto page = std::max(range.begin, first); page < end; ++page) {
      visit(range.state + static_cast<std::size_t>(page - range.begin));
    }
  }
}

void RefaultJoin::add(const order::Run<Piece>& run) {
  const auto* const rows = run.piece->rows();
  for (auto index = run.from; index < run.to; ++index) {
    const auto& row = rows[index];
    while (next_ < runs_.size() && runs_[next_].time_ns < row.time_ns) join(runs_[next_++]);
    if ((row.flags & row_is_mapping) != 0) {
      add_mapping(row, run.piece->mappings[row.size]);
    } else if ((row.flags & row_acquires) == 0) {
      release(row);
    } else if ((row.flags & row_is_wide) != 0) {
      const auto& wide = run.piece->wide[row.size];
      acquire(row.address, wide.size + wide.excess, row.stack);
    } else {
      acquire(row.address, std::uint64_t{row.size} + row.excess, row.stack);
    }
  }
}

void RefaultJoin::add_mapping(const Row& row, const MappingRow& mapping) {
  if (row.kind == trace::EventKind::malloc_trim_) {
    ++trims_;
    trim_stack_ = row.stack;
  } else if (gives_back(row.kind, mapping)) {
    State by;
    by.free_stack = row.stack;
    by.given_back_by = static_cast<std::uint8_t>(GivenBackBy::program);
    // Whatever blocks are there.
    for_pages(mapping.address, mapping.size, [&](std::size_t at) { states_[at].blocks = 0; });
    give_back(mapping.address, mapping.size, by);
    // After madvise the mapping is still there.
    const bool is_gone = row.kind == trace::EventKind::munmap_;
    for_pages(mapping.address, mapping.size, [&](std::size_t at) {
      if (is_gone) {
        states_[at].is_file = false;
      } else {
        states_[at].is_free = false;
      }
    });
  } else if (maps_file(row.kind, mapping)) {
    for_pages(mapping.address, mapping.size, [&](std::size_t at) {
      states_[at] = {};
      states_[at].is_file = true;
      waiting_.erase(at);
    });
  } else if (row.kind == trace::EventKind::mmap_ || row.kind == trace::EventKind::mremap_) {
    acquire(mapping.address, mapping.size, row.stack);
    for_pages(mapping.address, mapping.size, [&](std::size_t at) { states_[at].blocks = 0; });
  }
}

void RefaultJoin::acquire(std::uint64_t address, std::uint64_t bytes, std::uint32_t stack) {
  if (address == 0) return;
  // A block in a huge mapping of the program's may have a million pages, hence no lookup for each.
  bool is_near = false;
  for_pages(address, bytes > page_bytes ? bytes : 1, [&](std::size_t at) {
    auto& state = states_[at];
    is_near = true;
    ++state.blocks;
    state.stack = stack;
    state.is_free = state.is_file = false;
    if (waiting_.empty()) return;
    const auto waiting = waiting_.find(at);
    if (waiting == waiting_.end()) return;
    count(state, stack, waiting->second);
    waiting_.erase(waiting);
  });
  if (is_near && bytes > page_bytes) large_[address] = {bytes, stack};
}

void RefaultJoin::release(const Row& row) {
  if (row.address == 0) return;
  State by;
  by.free_stack = row.stack;
  std::uint64_t bytes = 1;
  const auto large = large_.find(row.address);
  if (large != large_.end()) {
    bytes = large->second.bytes;
    by.freed_stack = large->second.stack;
    const bool is_mapped = scope_.is_glibc && MmapThreshold::is_mapped_apart(bytes);
    by.given_back_by = static_cast<std::uint8_t>(is_mapped ? GivenBackBy::mapped_block : GivenBackBy::heap);
    large_.erase(large);
  }
  give_back(row.address, bytes, by);
}

void RefaultJoin::give_back(std::uint64_t address, std::uint64_t bytes, const State& by) {
  for_pages(address, bytes, [&](std::size_t at) {
    auto& state = states_[at];
    if (state.is_file) return;
    if (state.blocks > 0) --state.blocks;
    state.freed_stack = by.freed_stack != 0 ? by.freed_stack : state.stack;
    state.free_stack = by.free_stack;
    state.given_back_by = by.given_back_by;
    state.trims = trims_;
    state.is_free = true;
    if (state.blocks == 0) state.was_freed = true;
  });
}

void RefaultJoin::join(const trace::RefaultRun& run) {
  const bool is_in_window = run.time_ns >= scope_.from_ns;
  const auto weight = std::clamp<std::uint64_t>(run.weight, 1, std::uint64_t{1} << 32);
  auto left_ns = run.fault_ns;
  auto left = run.pages;
  bool is_first = true;
  for_pages(run.page * page_bytes, run.pages * page_bytes, [&](std::size_t at) {
    auto& state = states_[at];
    const auto part_ns = left_ns / std::max<std::uint64_t>(left, 1);
    left_ns -= part_ns;
    --left;
    if (!state.was_freed || !is_in_window) return;
    state.was_freed = false;
    const Sum sum{weight, part_ns * weight, is_first ? weight : 0};
    is_first = false;
    if (state.given_back_by != static_cast<std::uint8_t>(GivenBackBy::program) && trims_ != state.trims) {
      state.given_back_by = static_cast<std::uint8_t>(GivenBackBy::trim);
      state.free_stack = trim_stack_;
    }
    if (state.is_free) {
      auto& waiting = waiting_[at];
      waiting = {waiting.faults + sum.faults, waiting.fault_ns + sum.fault_ns, waiting.times + sum.times};
    } else {
      count(state, state.stack, sum);
    }
  });
}

void RefaultJoin::count(const State& state, std::uint32_t stack, const Sum& sum) {
  if (!scope_.sites.is_chosen(stack)) return;
  auto& all = sums_[{stack, state.free_stack, state.freed_stack, state.given_back_by}];
  all = {all.faults + sum.faults, all.fault_ns + sum.fault_ns, all.times + sum.times};
}

void RefaultJoin::finish(Facts& facts) {
  while (next_ < runs_.size()) join(runs_[next_++]);
  // Pages that no block has taken are left out: freed after a fork, which copies them, or of headers.
  for (const auto& [key, sum] : sums_) {
    const auto& [stack, free_stack, freed_stack, by] = key;
    facts.refault_sites.push_back({stack, free_stack, freed_stack, by, sum.faults, sum.fault_ns, sum.times});
    facts.processor.heap_refaults += sum.faults;
    facts.processor.heap_refault_ns += sum.fault_ns;
  }
  std::stable_sort(facts.refault_sites.begin(), facts.refault_sites.end(),
                   [](const auto& a, const auto& b) { return a.faults > b.faults; });
  if (facts.refault_sites.size() > most_rows) facts.refault_sites.resize(most_rows);
}

}  // namespace heapwright::analyze
