// SPDX-License-Identifier: MIT
// Observing a process that runs: from attach() to detach(). The process is stopped for a moment each
// time; nothing of this program is needed in between, and what was patched is put back by the next
// attachment if this one cannot.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "attach/observer.hpp"

namespace heapwright::attach {

struct StopFacts {
  std::uint64_t stopped_ns = 0;  // of the last stop of an attach, of the longest of a detach
  std::size_t threads = 0;
  int stops = 0;  // until all threads stood well
};

class Attachment {
 public:
  // Refusal: the process cannot be observed.
  Attachment(pid_t process, Observer& observer);

  // Refusal: what was changed was put back.
  void attach();
  // Tries until it succeeds, and says on standard error what keeps it from that. False: the process has ended
  // or executed another program: nothing is left to undo.
  bool detach();
  // Whether the process still has what was mapped into it.
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
  void map_region(RemoteCalls& call) const;
  void write_head() const;
  Scene scene(RemoteCalls& call) const { return {memory_, stopped_, plan_, region_, call}; }
  bool has_thread_within() const;
  void patch_all();
  void move_threads_out(const Patch& patch);
  FoundRegion own_region() const;
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
  bool has_begun_ = false;
};

}  // namespace heapwright::attach
