// SPDX-License-Identifier: MIT
// One process image's link to the session. It is made at the first heap call (record/link.hpp) and discarded
// in a fork child, whose first heap call makes its own link.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/process_link.hpp"
#include "session/layout.hpp"
#include "unwind/unwind.hpp"

namespace heapwright::record {

using platform::Mode;

// vfork children share the parent's page and continue in its lanes.
struct alignas(4096) WipedOnFork : platform::LinkState {};
[[gnu::visibility("hidden")]] extern constinit WipedOnFork wiped_on_fork;

struct Process {
  session::Control* control;
  session::ProcessBlock* block;
  unwind::Tables tables;
  bool ticks_are_tsc;
  bool durations;
  bool stacks;
  std::uint64_t free_stack_from_ticks;  // as session::Control has it
  std::uint64_t sample_mean_bytes;
  std::uint32_t block_index;
  std::uint32_t user_id;  // effective, when it was linked
  bool lanes_mapped_at_once;
};
[[gnu::visibility("hidden")]] extern constinit Process process;

// Makes a lane's memory accessible; nullptr if that fails.
session::Lane* map_lane(std::uint32_t index) noexcept;

// Whether a system call may end the process (session/layout.hpp). For a linked process.
inline bool is_confined() noexcept { return process.block->is_confined.load(std::memory_order_relaxed) != 0; }

// The collector, as record/ring.hpp sees it.
struct Reader {
  session::Control& control;
  bool ticks_are_tsc;
  bool is_alive() const noexcept { return session::is_collector_alive(control); }
  static bool is_confined() noexcept { return record::is_confined(); }
};

}  // namespace heapwright::record
