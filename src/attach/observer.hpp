// SPDX-License-Identifier: MIT
// What a process is attached to for: to be counted, or recorded. It knows its agent's data and the memory
// that this agent writes to; the patches and the agent's code are the attachment's.
#pragma once

#include <string>

#include "attach/agent_image.hpp"
#include "attach/plan.hpp"
#include "attach/region.hpp"
#include "attach/remote_calls.hpp"
#include "attach/stopped_threads.hpp"
#include "attach/target_memory.hpp"

namespace heapwright::attach {

// A process, all of whose threads stand still.
struct Scene {
  const TargetMemory& memory;
  const StoppedThreads& stopped;
  const Plan& plan;
  const Region& region;
  RemoteCalls& call;
};

class Observer {
 public:
  explicit Observer(AgentKind kind) : image_(kind) {}
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  const AgentImage& image() const noexcept { return image_; }

  // While the process still runs. Refusal: what is needed cannot be had.
  virtual void prepare(const Plan& plan) = 0;
  // Fills in the agent's data and maps its memory. Refusal: as above.
  virtual void begin(const Scene& scene) = 0;
  // The process is observed no more, or has ended.
  virtual void end() = 0;
  // Takes our memory away, or puts plain memory in its place where a thread may stand within a hook, for as
  // long as it likes. False: there is something to take away that a later stop may find unused.
  virtual bool unmap(const Scene& scene) = 0;
  // The process was not attached to after all.
  virtual void discard() noexcept = 0;
  // For who started this program: a field of JSON.
  virtual std::string place() const = 0;

 private:
  AgentImage image_;
};

}  // namespace heapwright::attach
