// SPDX-License-Identifier: MIT
// Counting: the agent writes to a page of counters.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "attach/counter_page.hpp"
#include "attach/observer.hpp"

namespace heapwright::attach {

class CountingObserver : public Observer {
 public:
  // keeper: the process that reads the page. is_whole: the process has called nothing yet.
  CountingObserver(pid_t process, pid_t keeper, bool is_whole)
      : Observer(AgentKind::counting), process_(process), keeper_(keeper), is_whole_(is_whole) {}

  void prepare(const Plan& plan) override;
  void begin(const Scene& scene) override;
  void confine(const TargetMemory& memory, const Region& region) override;
  void end() override { page_->end(); }
  bool unmap(const Scene& scene) override;
  void discard() noexcept override { page_->discard(); }
  std::string place() const override { return "\"page\": \"" + page_->path() + "\""; }

 private:
  std::uint64_t forget_threads(const Scene& scene) const;
  void map_page(const Scene& scene) const;

  pid_t process_;
  pid_t keeper_;
  bool is_whole_;
  std::unique_ptr<CounterPage> page_;
};

}  // namespace heapwright::attach
