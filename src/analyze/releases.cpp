// SPDX-License-Identifier: MIT
#include "analyze/releases.hpp"

#include "analyze/facts.hpp"
#include "analyze/facts/sites.hpp"

namespace heapwright::analyze {

ReleaseFacts::ReleaseFacts(const Scope& scope)
    : unit_(static_cast<double>(scope.weight.unit())), stacks_(scope.sites.stack_count()) {}

void ReleaseFacts::add(const Piece& piece) {
  const auto* const end = piece.rows() + piece.count();
  for (const auto* row = piece.rows(); row != end; ++row) {
    if ((row->flags & row_paired) != 0) {
      add({row->lifetime_ns(), row->size, 1, row->stack, row->duration_ns, row->kind,
           (row->flags & row_in_realloc) != 0, (row->flags & row_by_other_thread) != 0});
    }
  }
}

void ReleaseFacts::add_unknown(trace::EventKind kind, std::uint32_t duration_ns) {
  latencies_.add(kind, LatencyTable::no_class, duration_ns, static_cast<std::uint64_t>(unit_));
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
  facts.lifetimes = lifetimes_.finish(live);
}

}  // namespace heapwright::analyze
