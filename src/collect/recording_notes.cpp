// SPDX-License-Identifier: MIT
#include "collect/recording_notes.hpp"

namespace heapwright::collect {

std::vector<std::string> notes_of(const session::ProcessBlock& block, bool are_stacks_wanted,
                                  std::uint64_t damaged_slots) {
  std::vector<std::string> notes;
  const std::uint64_t without_lane = block.dropped_without_lane.load(std::memory_order_relaxed);
  const std::uint64_t not_stored = block.stacks_not_stored.load(std::memory_order_relaxed);
  if (without_lane != 0) {
    notes.push_back(std::to_string(without_lane) + " calls came from more than " +
                    std::to_string(session::max_lanes) + " threads at once and were not recorded");
  }
  if (not_stored != 0) {
    notes.push_back(std::to_string(not_stored) + " call stacks did not fit into the recorder's tables");
  }
  if (block.has_no_unwind_tables != 0 && are_stacks_wanted) {
    notes.emplace_back(
        "call stacks are one address each: the program is static, and its libc is older than glibc 2.35");
  }
  const std::uint64_t unseen = block.unseen_calls.load(std::memory_order_relaxed);
  if (unseen != 0) {
    notes.push_back(std::to_string(unseen) +
                    " calls to the allocator's own functions (such as mi_heap_destroy) are not in the "
                    "trace: what they allocated or released is unknown");
  }
  if (damaged_slots != 0) {
    notes.push_back(std::to_string(damaged_slots) +
                    " records were damaged: the program overwrites the recorder's memory");
  }
  return notes;
}

std::vector<std::string> unseen_of(const session::ProcessBlock& block) {
  std::vector<std::string> lines;
  const auto add = [&](std::uint32_t count, const std::string& how) {
    if (count == 1) lines.push_back("1 library was " + how + ": its heap calls are not seen");
    if (count > 1) {
      lines.push_back(std::to_string(count) + " libraries were " + how + ": their heap calls are not seen");
    }
  };
  add(block.deepbind_count.load(std::memory_order_relaxed), "loaded with RTLD_DEEPBIND");
  add(block.namespace_count.load(std::memory_order_relaxed), "opened in a namespace of its own (dlmopen)");
  return lines;
}

}  // namespace heapwright::collect
