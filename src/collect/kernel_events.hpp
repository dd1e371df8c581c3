// SPDX-License-Identifier: MIT
// The kernel's records for the session, sorted by thread and on the trace's clock, until the heap calls that
// contain them are drained.
//
// A record is in its ring before its call ends. So a reader that first looks at a lane's calls and then calls
// catch_up() has all records of these calls.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collect/kernel_rings.hpp"
#include "collect/pending_work.hpp"
#include "collect/refaults.hpp"
#include "collect/tick_clock.hpp"

namespace heapwright::collect {

class KernelEvents {
 public:
  // The clock must be calibrated before the first catch_up().
  explicit KernelEvents(const TickClock& clock) : clock_(clock) {}

  // Of a program that starts later, or runs; see KernelRings::open.
  void open(pid_t program, bool with_children) {
    const std::string refusal = rings_.open(program, with_children);
    state_ = refusal.empty() ? "recorded" : refusal;
  }
  // "recorded", or why nothing is recorded, as stored in traces.
  const std::string& state() const noexcept { return state_; }
  void leave_out(std::string why) { state_ = std::move(why); }
  bool is_open() const noexcept { return rings_.is_open(); }
  std::uint64_t longest_pause_ns() const noexcept { return rings_.longest_pause_ns(); }
  // Reads what the rings hold. Cheap when they are empty.
  void catch_up() {
    if (rings_.has_records()) read();
  }
  // nullptr: nothing is known about the thread. Valid until forget().
  PendingWork* of(std::uint32_t thread_id);
  void forget(std::uint32_t thread_id);
  // The process's page faults since the last forget_process(): their figures, and the runs of refaults that
  // were not taken before.
  void add_faults_of(std::uint32_t process_id, trace::ProcessorSample& sample) const;
  std::vector<trace::RefaultRun> take_refaults_of(std::uint32_t process_id);
  // It has ended, or has a new image.
  void forget_process(std::uint32_t process_id) { processes_.erase(process_id); }
  std::uint64_t lost() const noexcept { return rings_.lost(); }

 private:
  struct ThreadWork {
    PendingWork pending;
    Refaults::Open faults;
    std::uint32_t process_id = 0;
    bool makes_calls = false;
  };

  void read();
  Refaults* faults_of(std::uint32_t process_id);
  void close(ThreadWork& thread);
  std::unordered_map<std::uint32_t, ThreadWork>::iterator add_thread(std::uint32_t thread_id);
  std::uint64_t on_trace_clock(std::uint64_t monotonic_ns) const noexcept;
  void forget_idle();

  const TickClock& clock_;
  KernelRings rings_;
  std::string state_ = "off";
  std::vector<KernelRecord> records_;
  std::unordered_map<std::uint32_t, ThreadWork> threads_;
  std::unordered_map<std::uint32_t, Refaults> processes_;
  TickClock::Moment earlier_;  // at least shortest_base_ns before now_, or 0
  TickClock::Moment now_;
  std::uint64_t next_forget_ns_ = 0;
  std::uint64_t gap_from_ns_ = 0;  // of the latest loss; 0: none
  std::uint64_t gap_to_ns_ = 0;
};

}  // namespace heapwright::collect
