// SPDX-License-Identifier: MIT
// Reconstructs the heap: rows in order of time make blocks live and dead, and all facts that need paired
// calls are computed along the way.
//
// Tolerates what a recording cannot exclude: a block whose allocation is missing, or an address reused while
// it is still live (its release was missed, or comes late because the times are quantised).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyze/blocks.hpp"
#include "analyze/causes.hpp"
#include "analyze/copied_growth.hpp"
#include "analyze/mappings.hpp"
#include "analyze/mmap_threshold.hpp"
#include "analyze/peak.hpp"
#include "analyze/realloc_chains.hpp"
#include "analyze/release_runs.hpp"
#include "analyze/releases.hpp"
#include "analyze/row.hpp"
#include "analyze/scope.hpp"
#include "analyze/site_series.hpp"
#include "analyze/sites.hpp"
#include "analyze/slowest.hpp"
#include "analyze/spreads.hpp"
#include "analyze/threads.hpp"
#include "analyze/timeline.hpp"

namespace heapwright::analyze {

struct Facts;

class HeapModel {
 public:
  // releases: receives what is counted here.
  HeapModel(const Scope& scope, ReleaseFacts& releases);

  // leaves_releases: mark releases (row_paired) for others to count, if their rows have room for that;
  // otherwise count them here, which is less work in total.
  void add(const order::Run<Piece>& run, bool leaves_releases);
  const LivePeak& live() const noexcept { return live_; }
  const Blocks& blocks() const noexcept { return blocks_; }
  const SiteLives& lives() const noexcept { return sites_; }
  const Mappings& mappings() const noexcept { return mappings_; }
  const Causes& causes() const noexcept { return causes_; }
  // Fills the ordered columns and adds the releases to those of CallFacts, which must have finished; calls:
  // theirs.
  void finish(const std::vector<trace::MemorySample>& samples, const SiteCallSums& calls, Facts& facts);

 private:
  // A realloc between its two rows.
  struct OpenRealloc {
    Chain chain;
    std::uint64_t old_address = 0;
    std::optional<Block> block;  // nullopt: unknown
  };
  // A block whose address was reused before it was released.
  struct Displaced {
    Block block;
    std::uint64_t time_ns = 0;
    std::uint32_t lane = 0;  // of the thread that got the address
  };

  // Sums over the rows of a run, written back only when something else needs them.
  struct RunSums {
    std::uint64_t own_blocks = 0;
    std::uint64_t own_bytes = 0;
    std::uint64_t releases = 0;
    std::uint64_t release_ns = 0;
  };
  struct RunState {
    std::uint32_t lane;
    const Piece& piece;
    ThreadLife& thread;
    bool leaves_releases;
    std::size_t next_noted = 0;  // of the piece's noted rows
    RunSums sums = {};
  };

  template <bool follows_blocks>
  void add_rows(const order::Run<Piece>& run, bool leaves_releases);
  bool add_brief(const Row& row, Row& next, std::uint32_t hint, RunState& run);
  template <bool follows_blocks>
  void acquire(const Row& row, std::uint32_t hint, RunState& run);
  void acquire_wide(const Row& row, const Piece& piece, Slot& slot, Block& block);
  template <bool follows_blocks>
  void release(Row& row, std::uint32_t hint, RunState& run);
  template <bool follows_blocks>
  Block take(Slot& slot) noexcept;
  void take_wide(const Slot& slot, Block& block) noexcept;
  void open_realloc(const Row& row, const Slot& slot, std::uint32_t lane);
  void count_block(const Block& block, ThreadLife& owner);
  void uncount_block(const Block& block, ThreadLife& owner);
  void count_release(const Block& block, Row& row, RunState& run);
  void pair(const Block& block, Row& row, const RunState& run);
  void check_stated_size(const Block& block, const Row& row, const Piece& piece);
  void displace(Slot& slot, const Row& row, std::uint32_t lane);
  bool release_displaced(Row& row, RunState& run);
  void release_unknown(const Row& row, RunState& run);
  void count_unknown_release(const Row& row) noexcept;
  void keep_live_at_pause(Facts& facts);
  void add_slow_call(const Row& row, std::uint32_t lane, std::uint32_t block_stack, std::uint64_t block_size);
  void close_chain(const Slot& slot);
  std::size_t note(const NotedRow& noted, const Row& row, std::uint32_t hint, RunState& run);
  void acquire_large(const Row& row) noexcept;
  void end_run(const Row& row, RunState& run);
  void add_to_run(const Block& block, const Row& row, RunState& run);
  void add_growth(const Block& block, const Row& row, const RunState& run);
  void add_sums(RunState& run);
  void pass_border(std::uint64_t time_ns);
  void begin_window(std::uint64_t time_ns);
  std::uint64_t next_border_ns() const noexcept;

  const Scope& scope_;
  Blocks blocks_;
  LivePeak live_;
  SiteLives sites_;
  ReleaseFacts& releases_;
  std::vector<ThreadLife> threads_;    // by lane
  std::vector<OpenRealloc> reallocs_;  // by lane
  CrossThreadCounts cross_thread_;
  ChainSums chains_;
  ReleaseRuns runs_;
  CopiedGrowths growths_;
  Mappings mappings_;
  MmapThreshold mmap_threshold_;
  TimelineLive timeline_;
  SiteSeries site_series_;
  LiveSpreads spreads_;
  Slowest slowest_;
  Causes causes_;
  SmallFrees small_frees_;
  LargeHeapBlocks large_heap_blocks_;
  std::unordered_map<std::uint64_t, Displaced> displaced_;  // by address; rarely used
  std::uint64_t border_ns_ = 0;                             // pass_border is due then
  bool is_in_window_ = false;
  std::uint64_t unknown_releases_ = 0;
  std::uint64_t releases_from_before_ = 0;
  std::uint64_t releases_in_pauses_ = 0;
  std::uint64_t reused_live_addresses_ = 0;
  std::uint64_t size_mismatches_ = 0;
};

}  // namespace heapwright::analyze
