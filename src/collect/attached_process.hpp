// SPDX-License-Identifier: MIT
// A process that ran already, with an agent in it: heapwright-attach, a child of ours, puts it there, and
// takes it out when it is asked to or we are gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heapwright::collect {

class AttachedProcess {
 public:
  // Returns once the agent is there, or heapwright-attach has said why not. UsageError: it cannot be started.
  AttachedProcess(const std::string& attacher, pid_t process, bool despite_seccomp);
  ~AttachedProcess() { detach(); }
  AttachedProcess(const AttachedProcess&) = delete;
  AttachedProcess& operator=(const AttachedProcess&) = delete;

  // False: nothing was done to the process; standard error has the reason.
  bool is_attached() const noexcept { return !attached_.empty(); }
  // Where it is not attached: heapwright-attach could not say why. It has ended then.
  bool was_killed();
  pid_t attacher() const noexcept { return attacher_; }
  // The session that the process has mapped, opened anew; below 0: errno says why not.
  int open_session() const;

  // Waits until the process is as it was, or has ended. The second time it does nothing.
  void detach();

  // What heapwright-attach told, one JSON object each; "": nothing.
  const std::string& attached() const noexcept { return attached_; }
  const std::string& detached() const noexcept { return detached_; }
  std::uint64_t stopped_ns() const;
  std::uint64_t threads() const;
  // CLOCK_MONOTONIC when the agent was last seen in the process. 0: nobody told.
  std::uint64_t seen_monotonic_ns() const;
  // What its agent does not see.
  std::vector<std::string> unseen() const;

 private:
  std::string read_line();

  pid_t attacher_ = -1;
  int wait_status_ = 0;
  int to_attacher_ = -1;
  int from_attacher_ = -1;
  std::string attached_;
  std::string detached_;
};

// Of a JSON object without any nesting before the field: the number after `name`; 0: there is none.
std::uint64_t number_field_of(const std::string& json, const std::string& name);
// The same of a list of texts without escapes.
std::vector<std::string> texts_field_of(const std::string& json, const std::string& name);

}  // namespace heapwright::collect
