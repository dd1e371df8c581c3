// SPDX-License-Identifier: MIT
// Recording: the agent writes to the lanes of a session (session/layout.hpp), a memory file that the process
// creates by a system call that we inject. The recording program opens it as a file of this program, and
// switches the recording on.
#pragma once

#include <sys/types.h>

#include <string>

#include "attach/observer.hpp"

namespace heapwright::attach {

namespace recorder {
struct RecordingAgent;
}

class RecordingObserver : public Observer {
 public:
  explicit RecordingObserver(pid_t process) : Observer(AgentKind::recording), process_(process) {}
  ~RecordingObserver() override;

  void prepare(const Plan&) override {}
  void begin(const Scene& scene) override;
  void hand_on(const TargetMemory& memory, const Region& region, const RecordedImages& images) override;
  void end() override {}
  bool unmap(const Scene& scene) override;
  void discard() noexcept override {}
  std::string place() const override;

 private:
  void forget_threads(const Scene& scene) const;
  // Maps it at `area`; 0: anywhere.
  void make_session(const Scene& scene, std::uint64_t area);
  static long map_session(const Scene& scene, std::uint64_t area, long file);
  void describe(const Plan& plan) const;
  static void add_frame_table(const Scene& scene, recorder::RecordingAgent& made);

  pid_t process_;
  int file_ = -1;           // of the session, from begin() on
  std::uint64_t area_ = 0;  // its address in the process
};

}  // namespace heapwright::attach
