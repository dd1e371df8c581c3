// SPDX-License-Identifier: MIT
// length: the model and its hot path stay in one translation unit so that they inline
#include "analyze/heap_model.hpp"

#include <algorithm>
#include <array>

namespace heapwright::analyze {
namespace {

constexpr std::size_t displaced_limit = 4096;
// Rows between the steps of a block lookup (see Blocks).
constexpr std::size_t prefetch_distance = 32;
constexpr std::size_t locate_distance = 16;
// Rows come from another core's cache, which takes longer than an index lookup.
constexpr std::size_t rows_ahead = 96;
static_assert(locate_distance < prefetch_distance && prefetch_distance <= Piece::padding);

// The first noted row of the piece at or after `from`.
std::size_t noted_from(const std::vector<NotedRow>& noted, std::size_t from) {
  const auto found = std::partition_point(noted.begin(), noted.end(),
                                          [from](const NotedRow& one) { return one.row < from; });
  return static_cast<std::size_t>(found - noted.begin());
}

}  // namespace

HeapModel::HeapModel(const Scope& scope, ReleaseFacts& releases)
    : scope_(scope),
      sites_(scope.sites),
      releases_(releases),
      threads_(scope.thread_of_lane.size()),
      reallocs_(scope.thread_of_lane.size()),
      runs_(scope.thread_of_lane.size(), scope.thread_of_lane),
      growths_(scope.sites.site_count(), scope.histogram_counts),
      mmap_threshold_(scope.is_glibc),
      timeline_(scope.steps),
      site_series_(scope.steps, scope.sites.site_count()),
      spreads_(scope.sites, scope.weight),
      slowest_(scope.slowest_calls),
      causes_(scope.cause_rules, scope.slowest_calls,
              SlowBins(scope.wants_activity ? &scope.steps : nullptr)),
      is_in_window_(!scope.has_window_start) {
  border_ns_ = next_border_ns();
}

void HeapModel::add(const order::Run<Piece>& run, bool leaves_releases) {
  run.piece->has_paired_rows |= leaves_releases;
  if (scope_.follows_blocks()) {
    add_rows<true>(run, leaves_releases);
  } else {
    add_rows<false>(run, leaves_releases);
  }
}

template <bool follows_blocks>
void HeapModel::add_rows(const order::Run<Piece>& run, bool leaves_releases) {
  auto* const rows = run.piece->rows();
  RunState state{run.lane, *run.piece, threads_[run.lane], leaves_releases};
  std::array<std::uint32_t, locate_distance> hints{};
  state.next_noted = noted_from(state.piece.noted, run.from);
  auto noted_row =
      state.next_noted < state.piece.noted.size() ? state.piece.noted[state.next_noted].row : SIZE_MAX;
  for (auto index = run.from; index < run.to; ++index) {
    __builtin_prefetch(rows + index + rows_ahead, 1);
    if (blocks_.is_large()) {
      blocks_.prefetch(rows[index + prefetch_distance].address);
    }
    const auto hint = hints[index % locate_distance];
    hints[index % locate_distance] = blocks_.locate(rows[index + locate_distance].address);
    auto& row = rows[index];
    if (row.time_ns >= border_ns_) [[unlikely]] {
      add_sums(state);
      pass_border(row.time_ns);
    }
    if (index == noted_row) [[unlikely]] {
      noted_row = note(run.piece->noted[state.next_noted], row, hint, state);
    }
    if ((row.flags & row_acquires) == 0) {
      release<follows_blocks>(row, hint, state);
    } else if (!follows_blocks && row.address == rows[index + 1].address && index + 1 < run.to &&
               index + 1 != noted_row && add_brief(row, rows[index + 1], hint, state)) {
      ++index;
      hints[index % locate_distance] = blocks_.locate(rows[index + locate_distance].address);
    } else {
      acquire<follows_blocks>(row, hint, state);
    }
  }
  add_sums(state);
}

void HeapModel::add_sums(RunState& run) {
  auto& sums = run.sums;
  run.thread.own_blocks += sums.own_blocks;
  run.thread.own_bytes += sums.own_bytes;
  run.thread.add_release(sums.releases, sums.release_ns);
  timeline_.add_release(sums.releases, sums.release_ns);
  sums = {};
}

[[gnu::always_inline]] inline void HeapModel::count_block(const Block& block, ThreadLife& owner) {
  const auto bytes = block.size * block.weight;
  sites_.add_block(block.stack, bytes, block.weight, block.excess * block.weight, live_.version());
  owner.add_block(bytes);
  live_.add_block(block.size, block.excess, block.weight);
  live_.settle(block.time_ns);
  timeline_.raise(live_.live_bytes(), live_.live_usable_bytes());
}

[[gnu::always_inline]] inline void HeapModel::uncount_block(const Block& block, ThreadLife& owner) {
  const auto bytes = block.size * block.weight;
  sites_.remove_block(block.stack, bytes, block.weight, block.excess * block.weight, live_.version());
  owner.live_bytes -= bytes;
  live_.remove_block(block.size, block.excess, block.weight);
}

// A block whose release is the thread's next row, if only maxima could show that it lived: no other row sees
// it, and it makes no new peak. Otherwise returns false and does nothing.
[[gnu::always_inline]] inline bool HeapModel::add_brief(const Row& row, Row& next, std::uint32_t hint,
                                                        RunState& run) {
  constexpr auto special = row_is_wide | row_in_realloc | row_not_chosen;
  if ((row.flags & special) != 0 || (next.flags & (row_acquires | row_in_realloc)) != 0 ||
      next.time_ns >= border_ns_ || live_.would_be_peak(row.size) || !displaced_.empty() ||
      row.size >= mmap_threshold_.least_size() || blocks_.find(row.address, hint) != nullptr) {
    return false;
  }
  timeline_.raise(live_.live_bytes() + row.size, live_.live_usable_bytes() + row.size + row.excess);
  run.thread.raise(row.size);
  end_run(row, run);
  run.thread.last_address = 0;
  ++run.thread.temporaries;
  sites_.raise(row.stack, row.size);
  sites_.add_temporary(row.stack, 1);
  count_release({row.time_ns, row.size, row.excess, 1, row.stack, run.lane, true}, next, run);
  return true;
}

template <bool follows_blocks>
[[gnu::always_inline]] inline void HeapModel::acquire(const Row& row, std::uint32_t hint, RunState& run) {
  auto& slot = blocks_.claim(row.address, hint);
  if ((slot.flags & slot_live) != 0) [[unlikely]] {
    displace(slot, row, run.lane);
  }
  slot.time_ns = row.time_ns;
  slot.stack = row.stack;
  slot.lane = run.lane;
  slot.size = row.size;
  slot.excess = row.excess;
  slot.flags = slot_live;
  end_run(row, run);
  run.thread.last_address = row.address;
  if ((row.flags & (row_is_wide | row_in_realloc | row_not_chosen)) != 0) [[unlikely]] {
    Block block{row.time_ns, row.size, row.excess, 1, row.stack, run.lane, (row.flags & row_not_chosen) == 0};
    acquire_wide(row, run.piece, slot, block);
    if (block.is_chosen) {
      count_block(block, run.thread);
    }
    return;
  }
  if (row.size <= largest_fast_bytes) {
    small_frees_.reuse();
  } else if (row.size >= least_merging_bytes) [[unlikely]] {
    acquire_large(row);
  }
  count_block({row.time_ns, row.size, row.excess, 1, row.stack, run.lane, true}, run.thread);
}

// The rest of an acquisition that does not fit into a slot, or is filtered out.
[[gnu::noinline]] void HeapModel::acquire_wide(const Row& row, const Piece& piece, Slot& slot, Block& block) {
  if (!block.is_chosen) {
    slot.flags |= slot_not_chosen;
  }
  WideBlock wide{row.size, row.excess, 1, {}};
  if ((row.flags & row_is_wide) != 0) {
    const auto& from = piece.wide[row.size];
    wide = {from.size, from.excess, from.weight, {}};
  }
  if ((row.flags & row_in_realloc) != 0) {
    auto& open = reallocs_[block.lane];
    wide.chain = open.chain;
    const auto old_size = open.block ? open.block->size : 0;
    const bool is_mapped =
        scope_.is_glibc && open.block && MmapThreshold::is_mapped_apart(old_size + open.block->excess);
    wide.chain.add_step(open.old_address, row.address, old_size, wide.size, row.duration_ns, is_mapped);
    open = {};
  }
  slot.size = blocks_.add_wide(wide);
  slot.flags |= slot_is_wide;
  block.size = wide.size;
  block.excess = wide.excess;
  block.weight = wide.weight;
  if (spreads_.is_sampled() && block.is_chosen) {
    spreads_.add_block(block.stack, block.size, live_.version());
  }
}

// Marks the slot dead and returns what it held.
template <bool follows_blocks>
[[gnu::always_inline]] inline Block HeapModel::take(Slot& slot) noexcept {
  Block block{slot.time_ns, slot.size, slot.excess, 1, slot.stack, slot.lane, true};
  if ((slot.flags & slot_is_wide) != 0) [[unlikely]] {
    Block wide = block;
    take_wide(slot, wide);
    block.size = wide.size;
    block.excess = wide.excess;
    if constexpr (follows_blocks) {
      block.weight = wide.weight;
    }
  }
  if constexpr (follows_blocks) {
    block.is_chosen = (slot.flags & slot_not_chosen) == 0;
  }
  slot.flags = 0;
  return block;
}

[[gnu::noinline]] void HeapModel::take_wide(const Slot& slot, Block& block) noexcept {
  const auto& wide = blocks_.wide(slot);
  block.size = wide.size;
  block.excess = wide.excess;
  block.weight = wide.weight;
  blocks_.remove_wide(slot);
  if (spreads_.is_sampled() && (slot.flags & slot_not_chosen) == 0) {
    spreads_.remove_block(block.stack, block.size, live_.version());
  }
}

void HeapModel::close_chain(const Slot& slot) {
  const auto& wide = blocks_.wide(slot);
  if (wide.chain.steps != 0 && (slot.flags & slot_not_chosen) == 0) {
    chains_.add(scope_.sites.site_of(slot.stack), wide.chain, wide.size, wide.weight);
  }
}

// An allocation: ends the thread's run of releases.
[[gnu::always_inline]] inline void HeapModel::end_run(const Row& row, RunState& run) {
  auto& thread = run.thread;
  if (thread.run_length >= ReleaseRuns::attributed_from) [[unlikely]] {
    runs_.end(run.lane, sites_);
  }
  thread.run_length = 0;
  thread.last_begin_ns = row.time_ns - row.duration_ns;
  thread.last_size = (row.flags & (row_is_wide | row_in_realloc)) != 0 ? 0 : row.size;
  thread.last_stack = row.stack;
}

// A chosen block of weight 1 that is not part of a realloc.
[[gnu::always_inline]] inline void HeapModel::add_to_run(const Block& block, const Row& row, RunState& run) {
  auto& thread = run.thread;
  if (++thread.run_length <= CopiedGrowths::most_frees) {
    if (thread.last_address != 0 && CopiedGrowths::is_step(block.size, thread.last_size)) [[unlikely]] {
      add_growth(block, row, run);
    }
  } else if (thread.run_length >= ReleaseRuns::attributed_from) [[unlikely]] {
    runs_.add(run.lane, scope_.sites.site_of(block.stack), block.size, row.time_ns, row.duration_ns);
  }
}

[[gnu::noinline]] void HeapModel::add_growth(const Block& block, const Row& row, const RunState& run) {
  const auto site = scope_.sites.site_of(block.stack);
  const auto begin_ns = run.thread.last_begin_ns;
  const auto end_ns = row.time_ns + row.duration_ns;
  if (site != scope_.sites.site_of(run.thread.last_stack) || end_ns <= begin_ns) return;
  if (CopiedGrowths::is_small(block.size, run.thread.last_size)) {
    growths_.add_small_step(site, block.size, end_ns - begin_ns);
  } else if (run.thread.run_length == 1) {
    growths_.add_step(site, block.size, end_ns - begin_ns);
  }
}

[[gnu::noinline]] void HeapModel::open_realloc(const Row& row, const Slot& slot, std::uint32_t lane) {
  auto& open = reallocs_[lane];
  open = {{}, row.address, {}};
  if ((slot.flags & slot_is_wide) != 0) open.chain = blocks_.wide(slot).chain;
}

template <bool follows_blocks>
[[gnu::always_inline]] inline void HeapModel::release(Row& row, std::uint32_t hint, RunState& run) {
  auto* slot = blocks_.find(row.address, hint);
  if (!displaced_.empty() && release_displaced(row, run)) [[unlikely]] {
    return;
  }
  if (slot == nullptr) [[unlikely]] {
    release_unknown(row, run);
    return;
  }
  if ((row.flags & row_in_realloc) != 0) [[unlikely]] {
    open_realloc(row, *slot, run.lane);
  } else if ((slot->flags & slot_is_wide) != 0) [[unlikely]] {
    close_chain(*slot);
  }
  const auto block = take<follows_blocks>(*slot);
  if ((row.flags & row_in_realloc) != 0) [[unlikely]] {
    reallocs_[run.lane].block = block;
  }
  const bool is_latest = run.thread.last_address == row.address;
  if (is_latest) [[unlikely]] {
    run.thread.last_address = 0;
  }
  if (follows_blocks && !block.is_chosen) {
    return;
  }
  if (is_latest && block.lane == run.lane && (row.flags & row_in_realloc) == 0) [[unlikely]] {
    run.thread.temporaries += block.weight;
    sites_.add_temporary(block.stack, block.weight);
  }
  if (block.size >= mmap_threshold_.least_size() && (row.flags & row_in_realloc) == 0) [[unlikely]] {
    mmap_threshold_.add_free(block.size, block.excess, block.stack, row.time_ns);
  }
  uncount_block(block, block.lane == run.lane ? run.thread : threads_[block.lane]);
  if (block.size <= largest_fast_bytes) {
    small_frees_.add(block.stack);
  }
  if ((row.flags & row_in_realloc) == 0 && !scope_.weight.is_sampled()) {
    add_to_run(block, row, run);
  }
  count_release(block, row, run);
}

[[gnu::always_inline]] inline void HeapModel::count_release(const Block& block, Row& row, RunState& run) {
  run.sums.releases += block.weight;
  const auto bytes = block.size * block.weight;
  if (block.lane == run.lane) [[likely]] {
    run.sums.own_blocks += block.weight;
    run.sums.own_bytes += bytes;
  } else {
    row.flags |= row_by_other_thread;
    cross_thread_.add(block.lane, run.lane, bytes, block.weight);
  }
  if ((row.flags & row_in_realloc) == 0) [[likely]] {
    run.sums.release_ns += trace::is_release(row.kind) ? row.duration_ns * block.weight : 0;
    if (slowest_.is_candidate(row.duration_ns)) [[unlikely]] {
      add_slow_call(row, run.lane, block.stack, block.size);
    }
    if ((row.flags & row_size_stated) != 0) {
      check_stated_size(block, row, run.piece);
    }
  }
  if (is_in_window_) [[likely]] {
    pair(block, row, run);
  }
}

[[gnu::always_inline]] inline void HeapModel::pair(const Block& block, Row& row, const RunState& run) {
  // Both are at most trace::max_time_ns plus a duration, so the difference fits a signed number.
  const auto difference_ns = static_cast<std::int64_t>(row.time_ns - block.time_ns);
  const auto lifetime_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(difference_ns, 0));
  if (run.leaves_releases && block.size <= UINT32_MAX && block.weight == 1) {
    row.pair(lifetime_ns, static_cast<std::uint32_t>(block.size), block.stack);
  } else {
    releases_.add({lifetime_ns, block.size, block.weight, block.stack, row.duration_ns, row.kind,
                   (row.flags & row_in_realloc) != 0, (row.flags & row_by_other_thread) != 0});
  }
}

[[gnu::always_inline]] inline void HeapModel::check_stated_size(const Block& block, const Row& row,
                                                                const Piece& piece) {
  const auto stated = (row.flags & row_is_wide) != 0 ? piece.wide[row.size].size : row.size;
  size_mismatches_ += stated != block.size ? 1 : 0;
}

// By value: a block whose address is taken would stay in memory instead of registers.
[[gnu::noinline]] void HeapModel::add_slow_call(const Row& row, std::uint32_t lane, std::uint32_t block_stack,
                                                std::uint64_t block_size) {
  const auto stack = row.stack != 0 ? row.stack : block_stack;
  SlowCall call{row.time_ns, row.duration_ns, row.kind, scope_.thread_of_lane[lane], stack, block_size};
  call.block_stack = block_stack;
  slowest_.add(call);
}

// Why a release's block is unknown; decided only here.
void HeapModel::count_unknown_release(const Row& row) noexcept {
  if (scope_.recorded.has_gap_before(row.time_ns)) {
    ++releases_from_before_;
  } else {
    ++unknown_releases_;
  }
}

[[gnu::noinline]] void HeapModel::release_unknown(const Row& row, RunState& run) {
  if ((row.flags & row_is_mapping) != 0) {
    mappings_.change(row.kind, run.piece.mappings[row.size], row.stack, (row.flags & row_not_chosen) == 0);
    return;
  }
  if ((row.flags & row_in_realloc) != 0) {
    reallocs_[run.lane] = {{}, row.address, {}};
    if (scope_.weight.is_sampled()) {
      return;  // the old blocks of most reallocs were not sampled
    }
  }
  if (scope_.follows_blocks() && (scope_.chooses_by_block() || !scope_.is_lane_chosen(run.lane))) {
    return;
  }
  count_unknown_release(row);
  run.sums.releases += scope_.weight.unit();
  if (trace::is_release(row.kind)) {
    run.sums.release_ns += row.duration_ns * scope_.weight.unit();
    if (is_in_window_) {
      releases_.add_unknown(row.kind, row.duration_ns);
    }
  }
  if (slowest_.is_candidate(row.duration_ns)) {
    add_slow_call(row, run.lane, 0, 0);
  }
}

// The old block ends here without a lifetime. It is kept for a while, in case its release is just late.
[[gnu::noinline]] void HeapModel::displace(Slot& slot, const Row& row, std::uint32_t lane) {
  if ((slot.flags & slot_is_wide) != 0) {
    close_chain(slot);
  }
  const auto block = take<true>(slot);
  if (block.is_chosen) {
    uncount_block(block, threads_[block.lane]);
  }
  if (scope_.recorded.has_gap_between(block.time_ns, row.time_ns)) {
    ++releases_in_pauses_;
    return;
  }
  ++reused_live_addresses_;
  if (displaced_.size() >= displaced_limit) {
    std::erase_if(displaced_, [&](const auto& entry) {
      return entry.second.time_ns + scope_.inversion_ns < row.time_ns;
    });
  }
  if (displaced_.size() < displaced_limit) {
    displaced_[row.address] = {block, row.time_ns, lane};
  }
}

// True if this release belongs to the previous block at the address: it comes shortly after, and from another
// thread than the one that got the address (a thread's own calls are never out of order).
[[gnu::noinline]] bool HeapModel::release_displaced(Row& row, RunState& run) {
  const auto found = displaced_.find(row.address);
  if (found == displaced_.end()) {
    return false;
  }
  const auto displaced = found->second;
  displaced_.erase(found);
  if (displaced.lane == run.lane || row.time_ns > displaced.time_ns + scope_.inversion_ns) {
    return false;
  }
  // May have been counted before the window.
  reused_live_addresses_ -= reused_live_addresses_ != 0 ? 1 : 0;
  if ((row.flags & row_in_realloc) != 0) {
    reallocs_[run.lane] = {{}, row.address, displaced.block};
  }
  if (displaced.block.is_chosen) {
    count_release(displaced.block, row, run);
  }
  return true;
}

}  // namespace heapwright::analyze
