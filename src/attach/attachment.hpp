// SPDX-License-Identifier: MIT
// Counting in a process that runs: from attach() to detach(). The process is stopped for a moment each
// time; nothing of this program is needed in between, and what was patched is put back by the next
// attachment if this one cannot.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "attach/counter_page.hpp"
#include "attach/plan.hpp"
#include "attach/remote_calls.hpp"
#include "attach/stopped_threads.hpp"

namespace heapwright::attach {

struct StopFacts {
  std::uint64_t stopped_ns = 0;  // of the last stop
  std::size_t threads = 0;
  int stops = 0;  // until all threads stood well
};

class Attachment {
 public:
  // keeper: the process that reads the page. Refusal: the process cannot be counted.
  Attachment(pid_t process, pid_t keeper);

  // Refusal: what was changed was put back.
  void attach();
  // Tries until it succeeds, and says on standard error what keeps it from that. False: the process has ended
  // or executed another program: nothing is left to undo.
  bool detach();
  // Whether the process still has what was mapped into it.
  bool is_there() const;

  const StopFacts& facts() const noexcept { return facts_; }
  const Plan& plan() const noexcept { return plan_; }
  const std::string& page_path() const noexcept { return page_->path(); }
  bool has_healed() const noexcept { return has_healed_; }

 private:
  bool try_to_attach();
  void give_up();
  bool change_process();
  bool try_to_detach();
  void refuse_if_changed() const;
  void map_region(RemoteCalls& call) const;
  void map_page(RemoteCalls& call) const;
  std::uint64_t forget_threads();
  void write_region();
  bool has_thread_within() const;
  void patch_all();
  void move_threads_out(const Patch& patch);
  FoundRegion own_region() const;
  void put(std::uint64_t address, const void* from, std::size_t bytes) const;

  pid_t process_;
  TargetMemory memory_;
  StoppedThreads stopped_;
  AgentImage image_;
  Plan plan_;
  Region region_;
  std::unique_ptr<CounterPage> page_;
  StopFacts facts_;
  bool has_healed_ = false;
  bool is_region_mapped_ = false;
  bool is_page_mapped_ = false;
};

}  // namespace heapwright::attach
