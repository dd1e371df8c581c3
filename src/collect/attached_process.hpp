// SPDX-License-Identifier: MIT
// A running process with an agent in it. Our child heapwright-attach puts the agent there and removes it on
// request, or when we are gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collect/options.hpp"

namespace heapwright::collect {

class AttachedProcess {
 public:
  // Returns once the agent is in place or heapwright-attach has printed why not. NotAttached:
  // heapwright-attach cannot be started.
  // is_inside: the allocator in the executable is recorded, or counted.
  AttachedProcess(const std::string& attacher, const Options& options, bool is_inside);
  ~AttachedProcess() { detach(); }
  AttachedProcess(const AttachedProcess&) = delete;
  AttachedProcess& operator=(const AttachedProcess&) = delete;

  // False: the process was left untouched; the reason is on standard error.
  bool is_attached() const noexcept { return !attached_.empty(); }
  // When not attached: heapwright-attach was killed before it could say why.
  bool was_killed();
  pid_t attacher() const noexcept { return attacher_; }
  // Opens the session that the process has mapped; below 0: see errno.
  int open_session() const;

  // With its children: what images need that are to be recorded. Returns once the process has it, or
  // heapwright-attach has ended.
  void hand_on(const std::string& library, const std::string& session);

  // Waits until the process is restored or has ended. A second call does nothing.
  void detach();

  // What heapwright-attach printed, one JSON object each; "": nothing.
  const std::string& attached() const noexcept { return attached_; }
  const std::string& detached() const noexcept { return detached_; }
  std::uint64_t stopped_ns() const;
  std::uint64_t threads() const;
  // CLOCK_MONOTONIC when the agent was last seen in the process. 0: unknown.
  std::uint64_t seen_monotonic_ns() const;
  // Calls that its agent does not see.
  std::vector<std::string> unseen() const;
  // The allocators that are recorded beside the first one, by name.
  std::vector<std::string> beside() const;
  // Whether calls of this function are recorded.
  bool has(const std::string& function) const;

 private:
  std::string read_line();

  pid_t attacher_ = -1;
  int wait_status_ = 0;
  int to_attacher_ = -1;
  int from_attacher_ = -1;
  std::string attached_;
  std::string detached_;
};

// The number after `name` in a JSON object without nesting before that field; 0: no such field.
std::uint64_t number_field_of(const std::string& json, const std::string& name);
// The same for a list of texts without escapes.
std::vector<std::string> texts_field_of(const std::string& json, const std::string& name);

}  // namespace heapwright::collect
