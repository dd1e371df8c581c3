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
  bool lanes_mapped_at_once;
  bool collector_was_visible;
};
[[gnu::visibility("hidden")]] extern constinit Process process;

// Makes a lane's memory accessible; nullptr if that fails.
session::Lane* map_lane(std::uint32_t index) noexcept;

// False once the collector has died or closed the session. `waited_ns`: how long it has read nothing, which
// decides if its process cannot be seen.
bool is_collector_alive(std::uint64_t waited_ns) noexcept;

}  // namespace heapwright::record
