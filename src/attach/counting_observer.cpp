// SPDX-License-Identifier: MIT
#include "attach/counting_observer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "attach/agent/counting_layout.hpp"
#include "attach/agent_values.hpp"
#include "counters/calls_section.hpp"
#include "counters/processor_time.hpp"

namespace heapwright::attach {

using agent::CountingAgent;
using agent::WipedOnFork;

namespace {

// Its file, or what it is called where it has none of its own.
std::string shown(const Allocator& allocator, const Plan& plan) {
  if (!allocator.path.empty()) return allocator.path;
  return allocator.is_inner ? allocator.name : plan.program;
}

std::string shown(const Plan& plan) {
  const Allocator* const beside = plan.beside();
  std::string first = shown(plan.main(), plan);
  if (beside == nullptr) return first;
  const std::string other = shown(*beside, plan);
  return first.substr(first.rfind('/') + 1) + " and " + other.substr(other.rfind('/') + 1);
}

}  // namespace

void CountingObserver::prepare(const Plan& plan) {
  const Allocator* const beside = plan.beside();
  const auto knows_usable = [](const Allocator& allocator) { return allocator.usable_size != 0; };
  const PageFacts facts{
      .program = plan.program,
      .allocator = shown(plan),
      .knows_usable = knows_usable(plan.main()) && (beside == nullptr || knows_usable(*beside)),
      .is_whole = is_whole_,
      .clock_ns = counters::clock_cost_ns(monotonic_ns),
      .keeper = keeper_};
  page_ = std::make_unique<CounterPage>(process_, facts);
}

// Entries of earlier attachments: those of ended threads are freed, the others are reset. Returns how many
// tables they have.
std::uint64_t CountingObserver::forget_threads(const Scene& scene) const {
  std::set<std::uint64_t> living;
  for (const auto& [id, thread] : scene.stopped.threads()) living.insert(thread.registers.fs_base);
  const auto before = std::make_unique<WipedOnFork>();
  scene.memory.read(scene.region.threads(), before.get(), sizeof *before);
  for (std::size_t index = 0; index < agent::max_threads; ++index) {
    agent::Thread thread = before->threads[index];
    if (thread.key == agent::free_key) continue;
    thread.until_timed = 0;
    if (!living.contains(thread.key)) {
      thread.key = agent::ended_key;
      thread.guard_stack = 0;
    }
    scene.memory.must_put(scene.region.threads() + offsetof(WipedOnFork, threads) + index * sizeof thread,
                          thread);
  }
  return scene.memory.value_at<std::uint64_t>(scene.region.agent() + offsetof(CountingAgent, tables_used));
}

void CountingObserver::begin(const Scene& scene) {
  CountingAgent made;
  made.common = make_agent(scene.plan);
  made.second = make_second(scene.plan);
  made.common.attachment = scene.memory.value_at<CountingAgent>(scene.region.agent()).common.attachment + 1;
  made.page = reinterpret_cast<counters::CallsPage*>(scene.region.tail());
  made.clock_ns = counters::clock_cost_ns(monotonic_ns);
  made.tables_used = scene.plan.is_reused ? std::max<std::uint64_t>(1, forget_threads(scene)) : 1;
  const std::string& path = page_->path();
  std::memcpy(made.page_path, path.c_str(), std::min(path.size() + 1, sizeof made.page_path));
  scene.memory.must_put(scene.region.agent(), made);
  page_->begin(made.tables_used);
  map_page(scene);
}

void CountingObserver::map_page(const Scene& scene) const {
  const std::uint64_t path = scene.region.agent() + offsetof(CountingAgent, page_path);
  const long file = scene.call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
  check_call(file, "open its page in /dev/shm");
  const long mapped = scene.call(SYS_mmap, scene.region.tail(), sizeof(counters::CallsPage),
                                 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  scene.call(SYS_close, file);
  check_call(mapped, "map its page");
}

void CountingObserver::confine(const TargetMemory& memory, const Region& region) {
  memory.put(region.agent() + offsetof(CountingAgent, is_confined), std::uint64_t{1});
}

bool CountingObserver::unmap(const Scene& scene) {
  scene.call(SYS_mmap, scene.region.tail(), sizeof(counters::CallsPage), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return true;
}

}  // namespace heapwright::attach
