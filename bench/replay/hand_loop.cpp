// SPDX-License-Identifier: MIT
// The loop that somebody would write by hand for the calls of a plan's first thread: malloc, free, and a
// write to the block's begin. Prints the CPU time of one operation, in nanoseconds.
//
//   hand_loop PLAN
#include <cstdio>
#include <cstdlib>
#include <new>

#include "figures/process_figures.hpp"
#include "replay/plan_file.hpp"

namespace {

using namespace heapwright;

void run(figures::MappedArray<replay::Operation>& operations, figures::MappedArray<void*>& blocks) {
  for (const auto& operation : operations.first(operations.size())) {
    if (operation.is_control()) continue;
    void*& block = blocks[operation.slot];
    const auto kind = operation.event_kind();
    if (kind == trace::EventKind::malloc_) {
      block = std::malloc(operation.size);
      *static_cast<volatile char*>(block) = 1;
    } else if (kind == trace::EventKind::new_plain) {
      block = ::operator new(operation.size);
      *static_cast<volatile char*>(block) = 1;
    } else {
      std::free(block);
    }
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 2) return 2;
  const replay::PlanFile plan(arguments[1]);
  const auto& lane = plan.lanes()[0];
  figures::MappedArray<replay::Operation> operations(lane.count);
  plan.read(lane.offset, operations.begin(), lane.count * sizeof(replay::Operation));
  figures::MappedArray<void*> blocks(plan.header().slots);
  const auto begin_ns = figures::process_cpu_ns();
  run(operations, blocks);
  const auto cpu_ns = static_cast<double>(figures::process_cpu_ns() - begin_ns);
  std::printf("%.3f\n", cpu_ns / static_cast<double>(lane.count));
  return 0;
}
