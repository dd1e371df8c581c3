// SPDX-License-Identifier: MIT
// Facts of a released block once it is paired, whatever the order: its lifetime, the duration of its release,
// who released it. Each thread of the analysis counts into its own ReleaseFacts; the sums are added up at the
// end.
#pragma once

#include <cstdint>

#include "analyze/latency.hpp"
#include "analyze/lifetimes.hpp"
#include "analyze/row.hpp"
#include "analyze/scope.hpp"
#include "analyze/zeroed_array.hpp"

namespace heapwright::analyze {

struct Facts;

// The end of a block. duration_ns: of the releasing call, unless it is a realloc that moved the block.
struct Release {
  std::uint64_t lifetime_ns;
  std::uint64_t size_bytes;
  std::uint64_t weight;
  std::uint32_t stack;  // of the block
  std::uint32_t duration_ns;
  trace::EventKind kind;
  bool is_in_realloc;
  bool is_by_other_thread;
};

class ReleaseFacts {
 public:
  explicit ReleaseFacts(const Scope& scope);

  // Counts every row that HeapModel paired (row_paired).
  void add(const Piece& piece);
  [[gnu::always_inline]] void add(const Release& release) {
    lifetimes_.add(release.lifetime_ns, release.size_bytes, release.weight);
    auto& sums = stacks_[release.stack];
    sums.freed += release.weight;
    sums.lifetime_sum_ns += release.weight == 1 ? release.lifetime_ns : weighted(release);
    sums.freed_by_other_thread += release.is_by_other_thread ? release.weight : 0;
    if (release.is_in_realloc) [[unlikely]] {
      return;
    }
    sums.release_ns += release.duration_ns * release.weight;
    if (trace::is_release(release.kind)) [[likely]] {
      latencies_.add(release.kind, size_class_of(release.size_bytes), release.duration_ns, release.weight);
    }
  }
  // A release whose block is unknown.
  void add_unknown(trace::EventKind kind, std::uint32_t duration_ns);
  void add(const ReleaseFacts& other);
  const LatencyTable& latencies() const noexcept { return latencies_; }
  // Fills the columns about released blocks. facts.stacks must have its rows.
  void finish(const LivePeak& live, Facts& facts) const;

 private:
  struct alignas(32) StackReleases {
    std::uint64_t freed;
    std::uint64_t lifetime_sum_ns;
    std::uint64_t release_ns;
    std::uint64_t freed_by_other_thread;
  };

  // In units it would exceed 64 bits. Only a forged trace has a block that lived for centuries.
  std::uint64_t weighted(const Release& release) const noexcept {
    constexpr double most_ns = 0x1p63;
    const double lived_ns =
        static_cast<double>(release.lifetime_ns) * static_cast<double>(release.weight) / unit_;
    return static_cast<std::uint64_t>(lived_ns < most_ns ? lived_ns : most_ns);
  }

  double unit_;
  ZeroedArray<StackReleases> stacks_;
  Lifetimes lifetimes_;
  LatencyTable latencies_;
};

}  // namespace heapwright::analyze
