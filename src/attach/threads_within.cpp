// SPDX-License-Identifier: MIT
#include "attach/threads_within.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "attach/recorder/layout.hpp"

namespace heapwright::attach {
namespace {

using recorder::Activity;
using recorder::RecordingAgent;
using recorder::Thread;
using recorder::WipedOnFork;

// How far a stack is searched above its pointer: handlers are not deep.
constexpr std::uint64_t most_stack_bytes = 1 << 20;

bool is_code(const Region& region, std::uint64_t address) {
  return address >= region.image() && address < region.data();
}

// A handler that interrupted the agent's code is running: the kernel has put that address, the flags and the
// user-space code segment on the stack, in this order.
bool has_interrupted_agent(const Scene& scene, const StoppedThread& thread) {
  constexpr std::size_t segments_after = 2;
  constexpr std::uint64_t user_code_segment = 0x33;
  std::vector<std::uint64_t> words(most_stack_bytes / sizeof(std::uint64_t));
  const std::uint64_t begin = thread.registers.rsp & ~std::uint64_t{7};
  words.resize(scene.memory.read_some(begin, words.data(), most_stack_bytes) / sizeof words[0]);
  for (std::size_t at = 0; at + segments_after < words.size(); ++at) {
    const bool is_user = (words[at + segments_after] & 0xffff) == user_code_segment;
    if (is_user && is_code(scene.region, words[at])) return true;
  }
  return false;
}

// The entry's own word shows whether its thread is in the agent, except during the agent's first and last
// instructions.
bool is_busy(const Thread& thread) {
  constexpr std::uint64_t being_taken = 0;
  return thread.identity == being_taken || thread.activity != Activity::program;
}

}  // namespace

bool is_thread_within(const Scene& scene) {
  const std::uint64_t unloading = scene.region.agent() + offsetof(RecordingAgent, threads_unloading);
  if (scene.memory.value_at<std::uint64_t>(unloading) != 0) return true;
  std::set<std::uint64_t> living;
  for (const auto& [id, thread] : scene.stopped.threads()) {
    living.insert(thread.registers.fs_base);
    if (is_code(scene.region, thread.registers.rip) || has_interrupted_agent(scene, thread)) return true;
  }
  const auto table = std::make_unique<WipedOnFork>();
  scene.memory.read(scene.region.threads(), table.get(), sizeof *table);
  return std::any_of(std::begin(table->threads), std::end(table->threads),
                     [&](const Thread& thread) { return living.contains(thread.key) && is_busy(thread); });
}

}  // namespace heapwright::attach
