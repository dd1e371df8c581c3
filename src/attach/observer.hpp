// SPDX-License-Identifier: MIT
// The purpose of an attachment: counting or recording. An observer manages its agent's data and the memory
// that the agent writes to; the attachment manages the patches and the agent's code.
#pragma once

#include <string>

#include "attach/agent_image.hpp"
#include "attach/plan.hpp"
#include "attach/region.hpp"
#include "attach/remote_calls.hpp"
#include "attach/stopped_threads.hpp"
#include "attach/target_memory.hpp"

namespace heapwright::attach {

// A process with all of its threads stopped.
struct Scene {
  const TargetMemory& memory;
  const StoppedThreads& stopped;
  const Plan& plan;
  const Region& region;
  RemoteCalls& call;
};

// How the recorder gets into other images: the values of LD_PRELOAD and HEAPWRIGHT_SESSION.
struct RecordedImages {
  std::string library;
  std::string session;
};

class Observer {
 public:
  explicit Observer(AgentKind kind) : image_(kind) {}
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  const AgentImage& image() const noexcept { return image_; }

  // Called while the process is still running. Refusal: something that is needed is unavailable.
  virtual void prepare(const Plan& plan) = 0;
  // Fills in the agent's data and maps its memory. Refusal: as above.
  virtual void begin(const Scene& scene) = 0;
  // Tells the agent, while the process runs. Nothing: there is no room for them, or it is not for images.
  virtual void hand_on(const TargetMemory&, const Region&, const RecordedImages&) {}
  // The kernel may kill the process for what the agent asks. Any time.
  virtual void confine(const TargetMemory&, const Region&) {}
  // The process is no longer observed, or has ended.
  virtual void end() = 0;
  // Unmaps our memory, or replaces it with anonymous memory for as long as a thread may be inside a hook.
  // False: there is memory left that a later stop may find unused.
  virtual bool unmap(const Scene& scene) = 0;
  // The attachment did not take place.
  virtual void discard() noexcept = 0;
  // For the program that started this one: a JSON field.
  virtual std::string place() const = 0;

 private:
  AgentImage image_;
};

}  // namespace heapwright::attach
