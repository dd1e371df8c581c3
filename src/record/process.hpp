// SPDX-License-Identifier: MIT
// One process image's link to the session: made at its first heap call
// (record/link.hpp), forgotten in a fork child (whose first heap call makes a
// link of its own).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/process_link.hpp"
#include "session/layout.hpp"
#include "unwind/unwind.hpp"

namespace heapwright::record {

using platform::Mode;

// vfork children share the parent's page and go on in its lanes.
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
  bool lanes_mapped_at_once;
  bool collector_was_visible;
};
[[gnu::visibility("hidden")]] extern constinit Process process;

// Makes a lane's memory accessible. nullptr when it cannot be had.
session::Lane* map_lane(std::uint32_t index) noexcept;

// False once the collector has died or said goodbye. `waited_ns`: for how long
// it has taken nothing, which tells where its process cannot be seen.
bool is_collector_alive(std::uint64_t waited_ns) noexcept;

}  // namespace heapwright::record
