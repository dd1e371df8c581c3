// SPDX-License-Identifier: MIT
// One process image's link to the session. It is made at the first heap call (record/link.hpp) and discarded
// in a fork child, whose first heap call makes its own link.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/process_link.hpp"
#include "record/start_claims.hpp"
#include "session/layout.hpp"
#include "unwind/interpreter.hpp"
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
  unwind::MappedPart nodes;
  unwind::MappedPart modules;
  unwind::Interpreter interpreter;
  bool ticks_are_tsc;
  bool durations;
  bool stacks;
  std::uint64_t free_stack_from_ticks;  // as session::Control has it
  std::uint64_t sample_mean_bytes;
  session::Lane* first_lane;
  // What it was when it was linked, or a filter installed.
  std::uint32_t process_id;
  std::uint32_t parent_process_id;
  std::uint32_t user_id;  // effective
  std::uint32_t pid_namespace;
  std::atomic<bool> was_confined;                // inherited by fork children, as filters are
  std::atomic<std::uint64_t> clock_taken_ticks;  // when a thread lost it; 0: none has. Inherited
  unwind::MappedPart starts;                     // by the levels of map_starts(); inherited
};
[[gnu::visibility("hidden")]] extern constinit Process process;

// Makes the memory of lane `index` accessible, beside that of lane `mapped_index`; nullptr if that fails, and
// in a confined process. It needs no file.
session::Lane* map_lane(std::uint32_t index, session::Lane* mapped, std::uint32_t mapped_index) noexcept;

// For unwind::MappedPart.
bool grow_nodes(std::uint32_t level) noexcept;
bool grow_modules(std::uint32_t level) noexcept;

// The session's start table as far as it is mapped; it is, if necessary and possible. A process without room
// for all of it writes to its first page.
Starts map_starts(session::Control& control) noexcept;

// Whether the calling thread may read the clock, as is asked where it begins and in what is rare. A thread
// inherits that from the one that starts it; where it may not ask, it is taken not to.
bool may_read_clock() noexcept;
// The clock; for a thread that may not read it, the time when the first one lost it.
std::uint64_t rare_ticks(bool are_tsc) noexcept;

// Whether a system call may end the process (session/layout.hpp).
inline bool is_confined() noexcept {
  if (process.was_confined.load(std::memory_order_relaxed)) return true;
  // Until it is linked itself, a fork child sees its parent's block, which changes.
  if (wiped_on_fork.mode.load(std::memory_order_acquire) != Mode::active) return false;
  if (process.block->is_confined.load(std::memory_order_relaxed) == 0) return false;
  process.was_confined.store(true, std::memory_order_relaxed);
  return true;
}

// The collector, as record/ring.hpp sees it.
struct Reader {
  session::Control& control;
  bool ticks_are_tsc;
  bool is_alive() const noexcept { return session::is_collector_alive(control); }
  static bool is_confined() noexcept { return record::is_confined(); }
  bool waits() const noexcept { return (control.flags & session::drop_when_full) == 0; }
};

}  // namespace heapwright::record
