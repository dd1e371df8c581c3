// SPDX-License-Identifier: MIT
#include "collect/refaults.hpp"

#include <algorithm>
#include <bit>

namespace heapwright::collect {
namespace {

constexpr std::uint64_t page_bytes = 4096;
// Between two faults of a run: later ones may be of another block.
constexpr std::uint64_t longest_gap_ns = 1'000'000;

}  // namespace

FaultedPages::Leaf* FaultedPages::leaf_of(std::uint64_t number) {
  const auto found = leaves_.find(number);
  if (found != leaves_.end()) return found->second.get();
  if (leaves_.size() >= most_leaves) return nullptr;
  return leaves_.emplace(number, std::make_unique<Leaf>()).first->second.get();
}

void Refaults::begin(Open& open, std::uint64_t address, std::uint64_t time_ns) {
  const std::uint64_t page = address / page_bytes;
  open.is_again = pages_.add(page);
  ++faults_;
  if (!open.is_again) return;
  ++refaults_;
  trace::RefaultRun& run = open.run;
  if (run.weight != 0 && page == run.page + run.pages && time_ns < run.time_ns + longest_gap_ns) {
    ++run.pages;
    run.time_ns = time_ns;
    return;
  }
  close(open);
  run = {.time_ns = time_ns, .page = page, .pages = 1, .fault_ns = 0, .weight = 1};
}

void Refaults::end(Open& open, std::uint64_t work_ns) noexcept {
  fault_ns_ += work_ns;
  if (!open.is_again) return;
  refault_ns_ += work_ns;
  open.run.fault_ns += work_ns;
}

// Runs are left out by number, not by size or time: those that stay stand for the others.
void Refaults::close(Open& open) {
  if (open.run.weight == 0) return;
  const std::uint64_t weight = std::bit_floor(run_count_ / runs_per_thinning * 2 + 1);
  if (run_count_++ % weight == 0) {
    open.run.weight = weight;
    runs_.push_back(open.run);
  }
  open.run.weight = 0;
}

void Refaults::add_to(trace::ProcessorSample& sample) const noexcept {
  sample.seen_faults = faults_;
  sample.seen_fault_ns = fault_ns_;
  sample.refaults = refaults_;
  sample.refault_ns = refault_ns_;
}

}  // namespace heapwright::collect
