// SPDX-License-Identifier: MIT
// The kernel's records of one thread that have not been assigned to a heap call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collect/kernel_rings.hpp"
#include "trace/kernel_work.hpp"

namespace heapwright::collect {

class PendingWork {
 public:
  // `time_ns`: the record's time on the trace's clock. A thread's records come in order of time, or nearly
  // so. At most `most_parts` records (at least 2) are kept separately: beyond that, neighbours are merged and
  // belong to the call that contains their middle. Returns the work of the page fault that this record ends,
  // or 0.
  std::uint64_t add(const KernelRecord& record, std::uint64_t time_ns, std::size_t most_parts);
  // Records of [from, to] were lost, from any thread.
  void add_gap(std::uint64_t from_ns, std::uint64_t to_ns);

  // Calls that end before this have no kernel work; UINT64_MAX: there are no records.
  std::uint64_t first_ns() const noexcept {
    return std::min(next_ < parts_.size() ? parts_[next_].first_ns : UINT64_MAX, gap_from_ns_);
  }
  std::uint64_t last_ns() const noexcept { return last_ns_; }
  // The work within the thread's next call. Work before the call belongs to no call and is discarded.
  trace::KernelWork take(std::uint64_t begin_ns, std::uint64_t end_ns);

 private:
  struct Part {
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
    trace::KernelWork work;
    std::uint32_t records = 1;

    bool is_within(std::uint64_t begin_ns, std::uint64_t end_ns) const noexcept;
  };
  void push(std::uint64_t first_ns, std::uint64_t last_ns, const trace::KernelWork& work);
  std::uint64_t end_fault(std::uint64_t time_ns);
  void make_room(std::size_t most_parts);

  std::vector<Part> parts_;  // those before next_ are finished
  std::size_t next_ = 0;
  std::uint32_t grain_ = 1;  // parts of up to this many records may be added up
  std::uint64_t last_ns_ = 0;
  std::uint64_t gap_from_ns_ = UINT64_MAX;
  std::uint64_t gap_to_ns_ = 0;
  std::uint64_t fault_ns_ = 0;      // when the current fault began; 0: none
  std::uint64_t fault_off_ns_ = 0;  // time switched out since then
  std::uint64_t out_ns_ = 0;        // when the thread was switched out; 0: it runs
  bool is_preempted_ = false;
};

}  // namespace heapwright::collect
