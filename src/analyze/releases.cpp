// SPDX-License-Identifier: MIT
#include "analyze/releases.hpp"

namespace heapwright::analyze {

ReleaseFacts::ReleaseFacts(const Scope& scope)
    : map_(scope.sites), stacks_(scope.sites.stack_count()), lifetimes_(scope.sites.site_count()) {}

[[gnu::always_inline]] inline void ReleaseFacts::count(const Release& release) {
  lifetimes_.add(release.lifetime_ns, release.size_bytes, map_.site_of(release.stack), release.weight);
  auto& sums = stacks_[release.stack];
  sums.freed += release.weight;
  sums.lifetime_sum_ns += release.lifetime_ns * release.weight;
  sums.freed_by_other_thread += release.is_by_other_thread ? release.weight : 0;
  if (release.is_in_realloc) [[unlikely]] {
    return;
  }
  sums.release_ns += release.duration_ns * release.weight;
  if (trace::is_release(release.kind)) [[likely]] {
    latencies_.add(release.kind, size_class_of(release.size_bytes), release.duration_ns, release.weight);
  }
}

void ReleaseFacts::add(const Release& release) { count(release); }

void ReleaseFacts::add(const Piece& piece) {
  const auto* const end = piece.rows() + piece.count();
  for (const auto* row = piece.rows(); row != end; ++row) {
    if ((row->flags & row_paired) != 0) {
      count({row->lifetime_ns(), row->size, 1, row->stack, row->duration_ns, row->kind,
             (row->flags & row_in_realloc) != 0, (row->flags & row_by_other_thread) != 0});
    }
  }
}

void ReleaseFacts::add_unknown(trace::EventKind kind, std::uint32_t duration_ns) {
  latencies_.add(kind, LatencyTable::no_class, duration_ns, 1);
}

void ReleaseFacts::add(const ReleaseFacts& other) {
  for (std::size_t stack = 0; stack < stacks_.size(); ++stack) {
    const auto& from = other.stacks_[stack];
    if (from.freed == 0) {
      continue;
    }
    auto& to = stacks_[stack];
    to.freed += from.freed;
    to.lifetime_sum_ns += from.lifetime_sum_ns;
    to.release_ns += from.release_ns;
    to.freed_by_other_thread += from.freed_by_other_thread;
  }
  lifetimes_.add(other.lifetimes_);
  latencies_.add(other.latencies_);
}

void ReleaseFacts::finish(const LivePeak& live, Facts& facts) const {
  for (std::size_t stack = 0; stack < stacks_.size(); ++stack) {
    const auto& from = stacks_[stack];
    if (from.freed == 0) {
      continue;
    }
    auto& to = facts.stacks[stack];
    to.freed = from.freed;
    to.lifetime_sum_ns = from.lifetime_sum_ns;
    to.release_ns = from.release_ns;
    to.freed_by_other_thread = from.freed_by_other_thread;
  }
  lifetimes_.finish(live, facts);
}

}  // namespace heapwright::analyze
