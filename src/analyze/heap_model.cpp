// SPDX-License-Identifier: MIT
#include "analyze/heap_model.hpp"

#include <algorithm>

namespace heapwright::analyze {
namespace {

constexpr std::size_t displaced_limit = 4096;
// Rows between the prefetch of a block's slot and its use.
constexpr std::size_t prefetch_distance = 16;
static_assert(prefetch_distance <= Piece::padding);

}  // namespace

HeapModel::HeapModel(const Scope& scope)
    : scope_(scope),
      sites_(scope.sites),
      lifetimes_(scope.sites.site_count()),
      threads_(scope.thread_of_lane.size()),
      reallocs_(scope.thread_of_lane.size()),
      timeline_(scope.steps),
      slowest_(scope.slowest_calls),
      is_in_window_(!scope.has_window_start) {
  border_ns_ = next_border_ns();
}

std::uint64_t HeapModel::next_border_ns() const noexcept {
  return is_in_window_ ? timeline_.next_border_ns() : scope_.from_ns;
}

void HeapModel::pass_border(std::uint64_t time_ns) {
  if (!is_in_window_) {
    begin_window(scope_.from_ns);
  }
  timeline_.close_steps(time_ns, live_);
  border_ns_ = next_border_ns();
}

// Everything counts from zero; what is live stays live.
void HeapModel::begin_window(std::uint64_t time_ns) {
  is_in_window_ = true;
  live_.begin_window(time_ns);
  sites_.begin_window(live_.version());
  lifetimes_.begin_window();
  releases_.clear();
  for (auto& thread : threads_) {
    thread = {thread.last_address, thread.live_bytes, thread.live_bytes};
  }
  cross_thread_.begin_window();
  chains_.begin_window();
  timeline_.begin_window(live_);
  slowest_.clear();
  unknown_releases_ = 0;
  reused_live_addresses_ = 0;
  size_mismatches_ = 0;
}

void HeapModel::add(const Run<Piece>& run) {
  if (scope_.follows_blocks()) {
    add_rows<true>(run);
  } else {
    add_rows<false>(run);
  }
}

template <bool follows_blocks>
void HeapModel::add_rows(const Run<Piece>& run) {
  const auto* rows = run.piece->rows();
  for (auto index = run.from; index < run.to; ++index) {
    blocks_.prefetch(rows[index + prefetch_distance].address);
    const auto& row = rows[index];
    if (row.time_ns >= border_ns_) [[unlikely]] {
      pass_border(row.time_ns);
    }
    if ((row.flags & row_acquires) != 0) {
      acquire<follows_blocks>(row, *run.piece, run.lane);
    } else {
      release<follows_blocks>(row, *run.piece, run.lane);
    }
  }
}

void HeapModel::count_block(const Block& block, std::uint64_t time_ns) {
  const auto bytes = block.size * block.weight;
  sites_.add_block(block.stack, bytes, block.weight, live_.version());
  threads_[block.lane].add_block(bytes);
  live_.add_block(block.size, block.excess, block.weight);
  live_.settle(time_ns);
  timeline_.raise(live_.live_bytes());
}

void HeapModel::uncount_block(const Block& block) {
  const auto bytes = block.size * block.weight;
  sites_.remove_block(block.stack, bytes, block.weight, live_.version());
  threads_[block.lane].live_bytes -= bytes;
  live_.remove_block(block.size, block.excess, block.weight);
}

template <bool follows_blocks>
inline void HeapModel::acquire(const Row& row, const Piece& piece, std::uint32_t lane) {
  auto& slot = blocks_.claim(row.address);
  if ((slot.flags & slot_live) != 0) [[unlikely]] {
    displace(slot, row, lane);
  }
  slot.time_ns = row.time_ns;
  slot.stack = row.stack;
  slot.lane = lane;
  slot.size = row.size;
  slot.excess = row.excess;
  slot.flags = slot_live;
  Block block{row.time_ns, row.size, row.excess, 1, row.stack, lane, true};
  threads_[lane].last_address = row.address;
  if ((row.flags & (row_is_wide | row_in_realloc)) != 0) [[unlikely]] {
    WideBlock wide{row.size, row.excess, 1, {}};
    if ((row.flags & row_is_wide) != 0) {
      const auto& from = piece.wide[row.size];
      wide = {from.size, from.excess, from.weight, {}};
    }
    if ((row.flags & row_in_realloc) != 0) {
      auto& open = reallocs_[lane];
      wide.chain = open.chain;
      wide.chain.add_step(open.old_address, row.address, open.old_size, wide.size);
      open = {};
    }
    slot.size = blocks_.add_wide(wide);
    slot.flags |= slot_is_wide;
    block.size = wide.size;
    block.excess = wide.excess;
    block.weight = wide.weight;
  }
  if constexpr (follows_blocks) {
    if ((row.flags & row_not_chosen) != 0) {
      slot.flags |= slot_not_chosen;
      return;
    }
  }
  count_block(block, row.time_ns);
}

// Makes the slot dead and says what it held.
inline Block HeapModel::take(Slot& slot) noexcept {
  Block block{slot.time_ns, slot.size, slot.excess, 1, slot.stack, slot.lane, (slot.flags & slot_not_chosen) == 0};
  if ((slot.flags & slot_is_wide) != 0) [[unlikely]] {
    const auto& wide = blocks_.wide(slot);
    block.size = wide.size;
    block.excess = wide.excess;
    block.weight = wide.weight;
    blocks_.remove_wide(slot);
  }
  slot.flags = 0;
  return block;
}

void HeapModel::close_chain(const Slot& slot) {
  const auto& wide = blocks_.wide(slot);
  if (wide.chain.steps != 0 && (slot.flags & slot_not_chosen) == 0) {
    chains_.add(scope_.sites.site_of(slot.stack), wide.chain, wide.size, wide.weight);
  }
}

template <bool follows_blocks>
inline void HeapModel::release(const Row& row, const Piece& piece, std::uint32_t lane) {
  auto* slot = blocks_.find(row.address);
  Block block;
  if (!displaced_.empty() && was_displaced(row, lane, block)) [[unlikely]] {
    if (block.is_chosen) {
      count_release(block, row, piece, lane);
    }
    return;
  }
  if (slot == nullptr) [[unlikely]] {
    release_unknown(row, lane);
    return;
  }
  if ((row.flags & row_in_realloc) != 0) [[unlikely]] {
    auto& open = reallocs_[lane];
    open = {};
    open.old_address = row.address;
    open.old_size = slot->size;
    if ((slot->flags & slot_is_wide) != 0) {
      open.chain = blocks_.wide(*slot).chain;
      open.old_size = blocks_.wide(*slot).size;
    }
  } else if ((slot->flags & slot_is_wide) != 0) [[unlikely]] {
    close_chain(*slot);
  }
  block = take(*slot);
  auto& thread = threads_[lane];
  const bool is_latest = thread.last_address == row.address;
  thread.last_address = is_latest ? 0 : thread.last_address;
  if (follows_blocks && !block.is_chosen) {
    return;
  }
  if (is_latest && block.lane == lane && (row.flags & row_in_realloc) == 0) {
    note_temporary(block, thread);
  }
  uncount_block(block);
  count_release(block, row, piece, lane);
}

inline void HeapModel::note_temporary(const Block& block, ThreadLife& thread) {
  thread.temporaries += block.weight;
  sites_.life_of(block.stack).temporaries += block.weight;
}

inline void HeapModel::count_release(const Block& block, const Row& row, const Piece& piece, std::uint32_t lane) {
  const auto lifetime_ns = row.time_ns > block.time_ns ? std::min<std::uint64_t>(row.time_ns - block.time_ns, INT64_MAX) : 0;
  lifetimes_.add(lifetime_ns, block.size, scope_.sites.site_of(block.stack), block.weight);
  auto& life = sites_.life_of(block.stack);
  life.freed += block.weight;
  life.lifetime_sum_ns += lifetime_ns * block.weight;
  const auto bytes = block.size * block.weight;
  if (block.lane == lane) {
    threads_[lane].own_blocks += block.weight;
    threads_[lane].own_bytes += bytes;
  } else {
    life.freed_by_other_thread += block.weight;
    cross_thread_.add(block.lane, lane, bytes, block.weight);
  }
  if ((row.flags & row_in_realloc) == 0) {
    life.release_ns += row.duration_ns * block.weight;
    if (slowest_.is_candidate(row.duration_ns)) [[unlikely]] {
      add_slow_call(row, lane, block);
    }
    if ((row.flags & row_size_stated) != 0) {
      const auto stated = (row.flags & row_is_wide) != 0 ? piece.wide[row.size].size : row.size;
      size_mismatches_ += stated != block.size ? 1 : 0;
    }
  }
  count_call(row, lane, size_class_of(block.size), block.weight);
}

// A realloc's call was counted with its new block; what remains is that an
// old one was given up.
inline void HeapModel::count_call(const Row& row, std::uint32_t lane, std::size_t size_class, std::uint64_t weight) {
  std::uint64_t ns = 0;
  if (trace::is_release(row.kind)) [[likely]] {
    ns = row.duration_ns * weight;
    releases_.add(row.kind, size_class, row.duration_ns, weight);
  }
  threads_[lane].add_release(weight, ns);
  timeline_.add_release(weight, ns);
}

void HeapModel::add_slow_call(const Row& row, std::uint32_t lane, const Block& block) {
  const auto stack = row.stack != 0 ? row.stack : block.stack;
  slowest_.add({row.time_ns, row.duration_ns, row.kind, scope_.thread_of_lane[lane], stack, block.size});
}

void HeapModel::release_unknown(const Row& row, std::uint32_t lane) {
  if ((row.flags & row_in_realloc) != 0) {
    reallocs_[lane] = {};
    reallocs_[lane].old_address = row.address;
    if (scope_.weight.is_sampled()) {
      return;  // most reallocs' old blocks were not sampled
    }
  }
  if (scope_.follows_blocks()) {
    if (scope_.chooses_by_block() || !scope_.is_lane_chosen(lane)) {
      return;
    }
  }
  count_call(row, lane, LatencyTable::no_class, 1);
  ++unknown_releases_;
  if (slowest_.is_candidate(row.duration_ns)) [[unlikely]] {
    add_slow_call(row, lane, Block{});
  }
}

// The old block ends here without a lifetime. It is kept for a while, in
// case its release is only late.
void HeapModel::displace(Slot& slot, const Row& row, std::uint32_t lane) {
  if ((slot.flags & slot_is_wide) != 0) {
    close_chain(slot);
  }
  const auto block = take(slot);
  if (block.is_chosen) {
    uncount_block(block);
  }
  ++reused_live_addresses_;
  if (displaced_.size() >= displaced_limit) {
    std::erase_if(displaced_, [&](const auto& entry) { return entry.second.time_ns + scope_.inversion_ns < row.time_ns; });
  }
  if (displaced_.size() < displaced_limit) {
    displaced_[row.address] = {block, row.time_ns, lane};
  }
}

// True when this release belongs to the block that had the address before:
// it comes shortly after, and from another thread than the one that got the
// address (a thread's own calls are never out of order).
bool HeapModel::was_displaced(const Row& row, std::uint32_t lane, Block& block) {
  const auto found = displaced_.find(row.address);
  if (found == displaced_.end()) {
    return false;
  }
  const auto displaced = found->second;
  displaced_.erase(found);
  if (displaced.lane == lane || row.time_ns > displaced.time_ns + scope_.inversion_ns) {
    return false;
  }
  block = displaced.block;
  reused_live_addresses_ -= reused_live_addresses_ != 0 ? 1 : 0;  // may have been counted before the window
  if ((row.flags & row_in_realloc) != 0) {
    reallocs_[lane] = {};
    reallocs_[lane].old_address = row.address;
    reallocs_[lane].old_size = block.size;
  }
  return true;
}

void HeapModel::finish(const std::vector<trace::MemorySample>& samples, Facts& facts) {
  if (!is_in_window_) {
    pass_border(scope_.from_ns);
  }
  blocks_.for_each_live([this](const Slot& slot) {
    if ((slot.flags & slot_is_wide) != 0) {
      close_chain(slot);
    }
  });
  live_.finish(facts);
  sites_.finish(live_.version(), facts);
  lifetimes_.finish(live_, facts);
  for (std::size_t lane = 0; lane < threads_.size(); ++lane) {
    auto& thread = facts.threads[scope_.thread_of_lane[lane]];
    thread.temporaries = threads_[lane].temporaries;
    thread.peak_live_bytes = threads_[lane].peak_live_bytes;
    thread.releases = threads_[lane].releases;
    thread.allocator_ns += threads_[lane].release_ns;
    facts.temporaries += threads_[lane].temporaries;
    facts.totals.releases += threads_[lane].releases;
  }
  cross_thread_.finish(scope_.thread_of_lane, threads_, facts);
  chains_.finish(facts);
  timeline_.finish(live_, samples, facts);
  for (const auto& call : facts.slowest) {
    slowest_.add(call);
  }
  facts.slowest = slowest_.finish();
  facts.totals.unknown_releases = unknown_releases_;
  facts.totals.reused_live_addresses = reused_live_addresses_;
  facts.totals.size_mismatches = size_mismatches_;
}

}  // namespace heapwright::analyze
