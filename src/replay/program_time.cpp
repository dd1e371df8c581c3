// SPDX-License-Identifier: MIT
#include "replay/program_time.hpp"

#include <algorithm>

namespace heapwright::replay {
namespace {

// The recorder's cost is an average: some of each stretch must remain.
constexpr std::uint64_t most_of_stretch_ns = 900'000;

}  // namespace

std::uint64_t ProgramTime::begin_of(std::uint32_t lane, std::uint64_t moment_ns,
                                    std::uint64_t duration_ns) noexcept {
  if (end_ns_ == 0) {
    first_ns_ = moment_ns - std::min(moment_ns, duration_ns);
    end_ns_ = first_ns_ + stretch_ns;
  }
  pass(moment_ns);
  const Spent& spent = spent_[lane];
  const auto own_ns = spent.stretch == stretch_ ? spent.ns : 0;
  const auto later_ns = first_ns_ + before_ns_ + own_ns + duration_ns;
  return std::max<std::uint64_t>(moment_ns - std::min(moment_ns, later_ns), 1);
}

void ProgramTime::spend(std::uint32_t lane, trace::EventKind kind) noexcept {
  Spent& spent = spent_[lane];
  if (spent.stretch != stretch_) spent = {stretch_, 0};
  spent.ns += trace::is_release(kind) ? release_ns_ : allocation_ns_;
  most_ns_ = std::max(most_ns_, spent.ns);
}

void ProgramTime::pass(std::uint64_t moment_ns) noexcept {
  if (moment_ns < end_ns_) return;
  before_ns_ += std::min(most_ns_, most_of_stretch_ns);
  most_ns_ = 0;
  ++stretch_;
  end_ns_ += (moment_ns - end_ns_) / stretch_ns * stretch_ns + stretch_ns;
}

}  // namespace heapwright::replay
