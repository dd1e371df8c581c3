// SPDX-License-Identifier: MIT
// A plan made from a trace in memory, in a file of its own that goes with it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "order/memory_trace.hpp"
#include "replay/make_plan.hpp"
#include "replay/plan_file.hpp"
#include "trace/residency.hpp"

namespace heapwright::replay {

constexpr std::uint64_t page = trace::residency_unit_bytes;

class PlanOf {
 public:
  explicit PlanOf(order::MemoryTrace& trace, const ChangeRequest& change = {}, std::uint64_t calls = 0,
                  bool has_times = false)
      : path_(::testing::TempDir() + "plan-XXXXXX") {
    const int descriptor = mkstemp(path_.data());
    if (descriptor >= 0) close(descriptor);
    trace.seal();
    header_ = make_plan(trace, path_, change, calls, has_times);
  }
  ~PlanOf() { std::remove(path_.c_str()); }
  PlanOf(const PlanOf&) = delete;
  PlanOf& operator=(const PlanOf&) = delete;

  const Header& header() const noexcept { return header_; }
  const char* path() const noexcept { return path_.c_str(); }

  // In the order of the file.
  std::vector<Operation> operations(std::uint32_t lane) const {
    const PlanFile file(path());
    std::vector<Operation> found(file.lanes()[lane].count);
    file.read(file.lanes()[lane].offset, found.data(), found.size() * sizeof(Operation));
    return found;
  }
  std::vector<Turn> turns() const {
    const PlanFile file(path());
    std::vector<Turn> found(file.header().turns);
    file.read(file.header().turns_offset, found.data(), found.size() * sizeof(Turn));
    return found;
  }

 private:
  std::string path_;
  Header header_;
};

// A process with threads 1, 2, …; thread 0 is its first.
inline order::MemoryTrace trace_of_threads(std::uint32_t threads) {
  order::MemoryTrace trace;
  trace.metadata_record.process_id = 100;
  for (std::uint32_t index = 0; index < threads; ++index) {
    trace::Thread thread;
    thread.index = index;
    thread.thread_id = 100 + index;
    trace.thread_records.push_back(thread);
  }
  trace.end_record.time_ns = 1'000'000;
  return trace;
}

}  // namespace heapwright::replay
