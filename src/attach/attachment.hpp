// SPDX-License-Identifier: MIT
// Observes a running process from attach() to detach(). The process is briefly stopped for each of these; in
// between it does not need this program. If this program cannot remove its patches, the next attachment does.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "attach/observer.hpp"

namespace heapwright::attach {

struct StopFacts {
  std::uint64_t stopped_ns = 0;  // of the last stop of an attach, of the longest of a detach
  std::size_t threads = 0;
  int stops = 0;  // until all threads were at a safe place
};

class Attachment {
 public:
  // Refusal: the process cannot be observed.
  Attachment(pid_t process, Observer& observer, const Wanted& wanted);

  // Refusal: all changes were undone.
  void attach();
  // Retries until it succeeds, and prints on standard error what prevents it. False: the process has ended or
  // executed another program: nothing is left to undo.
  bool detach();
  // Images that replace the process or its children are recorded from now on. Any time after attach().
  void hand_on(const RecordedImages& images) { observer_.hand_on(memory_, region_, images); }
  // Tells the agent if the process has confined itself in a way that the agent does not see.
  void look_at_filters() {
    if (stopped_.has_new_filter()) observer_.confine(memory_, region_);
  }
  // Whether the process still has our mapping.
  bool is_there() const;

  const StopFacts& facts() const noexcept { return facts_; }
  const Plan& plan() const noexcept { return plan_; }
  bool has_healed() const noexcept { return has_healed_; }

 private:
  bool try_to_attach();
  void give_up();
  bool change_process();
  bool try_to_detach();
  void refuse_if_changed() const;
  void refuse_without_clock(RemoteCalls& call) const;
  void map_region(RemoteCalls& call) const;
  void map_annex(RemoteCalls& call) const;
  void write_heads() const;
  Scene scene(RemoteCalls& call) const { return {memory_, stopped_, plan_, region_, call}; }
  bool has_thread_within() const;
  void patch_all();
  void move_threads_out(const Patch& patch);
  bool restore_own() const;
  void set_active(bool is_active) const;

  pid_t process_;
  TargetMemory memory_;
  StoppedThreads stopped_;
  Observer& observer_;
  Plan plan_;
  Region region_;
  StopFacts facts_;
  bool has_healed_ = false;
  bool is_region_mapped_ = false;
  bool is_annex_mapped_ = false;
  bool has_begun_ = false;
};

}  // namespace heapwright::attach
