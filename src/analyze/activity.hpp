// SPDX-License-Identifier: MIT
// The activity of stacks and threads, and call durations, over time: counts the rows of the merge a second
// time. Costs nothing in an analysis that does not request it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/binned_sums.hpp"
#include "analyze/facts/activity.hpp"
#include "analyze/histogram.hpp"
#include "analyze/row.hpp"
#include "analyze/scope.hpp"
#include "analyze/timeline.hpp"

namespace heapwright::analyze {

struct Facts;

// Not thread-safe. A call counts at the time of its row: an allocation at its end. Memory: most_rows x 56
// bytes, 56 bytes per stack, and 1 MiB. When the rows run out, neighbouring bins are merged in pairs.
class Activity {
 public:
  static constexpr std::size_t most_rows = std::size_t{1} << 22;

  // Does nothing unless scope.wants_activity.
  explicit Activity(const Scope& scope, std::size_t rows_limit = most_rows);

  // Rows from this time on must not be added before pass() was called, because a bin ends there. UINT64_MAX:
  // no bin ends.
  std::uint64_t next_ns() const noexcept { return next_ns_; }
  void pass(const SiteLives& lives);
  // Rows in order of time, before the model changes them.
  void add(const order::Run<Piece>& run);
  // After the last row.
  void finish(const SiteLives& lives, Facts& facts);

 private:
  using Counts = std::array<std::uint64_t, duration_buckets>;
  struct BinLatencies {
    Counts allocations{};
    Counts releases{};
  };

  // Adds the row of a chosen block; adds its thread's part to `thread`.
  void add_row(const Row& row, const Piece& piece, BinnedSum& thread);
  void set_border() noexcept;
  void fold();
  void finish_latencies(Facts& facts) const;

  const Scope& scope_;
  TimeSteps steps_;
  std::size_t rows_limit_;
  std::uint32_t steps_per_bin_ = 1;
  std::uint32_t bin_ = 0;  // the open one
  std::uint64_t next_ns_ = UINT64_MAX;
  BinnedSums paths_;    // by stack
  BinnedSums threads_;  // by lane
  std::vector<BinLatencies> latencies_;
};

}  // namespace heapwright::analyze
