// SPDX-License-Identifier: MIT
#include "record/link.hpp"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstring>

#include "platform/clock.hpp"
#include "platform/futex.hpp"
#include "platform/raw_syscall.hpp"
#include "record/allocator_name.hpp"
#include "record/lane.hpp"
#include "record/process.hpp"
#include "record/real_functions.hpp"
#include "record/sampling.hpp"
#include "record/session_link.hpp"
#include "record/start_notes.hpp"
#include "unwind/node_table.hpp"

namespace heapwright::record {

using platform::raw_argument;
using platform::raw_syscall;
using session::Control;
using session::ProcessBlock;

namespace {

// What every process maps of its block: the tables, of which the last is mapped as far as it is needed, and a
// lane.
constexpr std::size_t tables_bytes =
    offsetof(ProcessBlock, nodes) + unwind::node_levels[0] * sizeof(session::NodeWord);

// Unmaps what was mapped.
void unmap_block(void* tables, void* lane) noexcept {
  if (tables != nullptr) unmap_part(tables, tables_bytes);
  if (lane != nullptr) unmap_part(lane, sizeof(session::Lane));
}

bool is_fork_child;
char allocator_name[sizeof(ProcessBlock::allocator)];

// Claims a free block: processes compete only for the state word. nullptr: no block is free, or there is no
// memory for it; the collector is informed.
ProcessBlock* claim_block(Control& control, int file) noexcept {
  const std::uint32_t first = control.next_process_hint.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t probe = 0; probe < session::max_processes; ++probe) {
    const std::uint32_t index = (first + probe) % session::max_processes;
    const std::uint64_t offset = session::process_offset(index);
    void* memory = map_part(control, file, offset, tables_bytes);
    void* lane = memory == nullptr
                     ? nullptr
                     : map_part(control, file, offset + offsetof(ProcessBlock, lanes), sizeof(session::Lane));
    if (lane == nullptr) {
      unmap_block(memory, lane);
      report_refusal(control, session::refused_no_memory);
      return nullptr;
    }
    auto* block = static_cast<ProcessBlock*>(memory);
    std::uint32_t expected = session::process_unused;
    if (block->state.compare_exchange_strong(expected, session::process_claimed, std::memory_order_acq_rel)) {
      process.first_lane = static_cast<session::Lane*>(lane);
      return block;
    }
    unmap_block(memory, lane);
  }
  report_refusal(control, session::refused_session_full);
  return nullptr;
}

void copy_text(char* to, std::size_t capacity, const char* from) noexcept {
  const std::size_t length = std::strlen(from);
  const std::size_t taken = length < capacity ? length : capacity - 1;
  std::memcpy(to, from, taken);
  to[taken] = '\0';
}

void describe_process(ProcessBlock& block) noexcept {
  block.process_id = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
  block.parent_process_id = static_cast<std::uint32_t>(raw_syscall(SYS_getppid));
  block.is_fork_child = is_fork_child ? 1 : 0;
  block.pid_namespace = own_pid_namespace();
  block.start_ticks = platform::read_ticks(process.ticks_are_tsc);
  const long length = raw_syscall(SYS_readlink, raw_argument("/proc/self/exe"),
                                  raw_argument(block.executable), sizeof block.executable - 1);
  block.executable[length > 0 ? length : 0] = '\0';
  const auto* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  copy_text(block.started_as, sizeof block.started_as, started_as == nullptr ? "" : started_as);
  block.has_no_unwind_tables = can_find_objects() ? 0 : 1;
  // Asked only at a time when the allocator cannot be active itself.
  copy_text(block.allocator, sizeof block.allocator,
            allocator_name[0] != '\0' ? allocator_name : allocator_path());
}

Mode link() noexcept {
  if (real.malloc == nullptr) find_real_functions();
  // A fork child has its parent's mapping and needs no permission for it.
  Control* control = is_fork_child ? noted_session() : nullptr;
  if (is_fork_child && (control == nullptr || (control->flags & session::follow_children) == 0)) {
    return Mode::dormant;
  }
  if (!find_session_text()) return Mode::dormant;
  const bool has_limit = has_address_space_limit();
  const int file = control == nullptr || has_limit ? open_session() : -1;
  if (control == nullptr && file >= 0) control = map_control(file);
  ProcessBlock* block = control == nullptr ? nullptr : claim_block(*control, file);
  if (file >= 0) close_session(file);
  if (block == nullptr) return Mode::dormant;
  const std::uint32_t flags = control->flags;
  process.control = control;
  process.block = block;
  process.ticks_are_tsc = (flags & session::clock_is_tsc) != 0;
  process.durations = (flags & session::record_durations) != 0;
  process.stacks = (flags & session::record_stacks) != 0;
  process.free_stack_from_ticks = control->free_stack_from_ticks;
  process.sample_mean_bytes = control->sample_mean_bytes;
  process.nodes.place.store(reinterpret_cast<std::uint64_t>(&block->nodes), std::memory_order_relaxed);
  process.nodes.grow = grow_nodes;
  process.tables = {.block = block,
                    .nodes = &process.nodes,
                    .max_frames = control->max_frames,
                    .ticks_are_tsc = process.ticks_are_tsc};
  process.user_id = static_cast<std::uint32_t>(raw_syscall(SYS_geteuid));
  describe_process(*block);
  if (process.sample_mean_bytes != 0 && !prepare_sampling()) {
    report_refusal(*control, session::refused_no_memory);
    return Mode::dormant;
  }
  begin_lanes(is_fork_child, process.first_lane);
  block->state.store(session::process_live, std::memory_order_release);
  if (control->collector_sleeps.exchange(0) != 0) platform::futex_wake(control->collector_sleeps);
  return Mode::active;
}

}  // namespace

bool link_process() noexcept {
  // A child of a confined process may not ask for anything; its parent has said that it is not recorded.
  if (is_fork_child && wiped_on_fork.mode.load(std::memory_order_relaxed) == Mode::unknown && is_confined()) {
    wiped_on_fork.mode.store(Mode::dormant, std::memory_order_relaxed);
  }
  return platform::link_once(wiped_on_fork, [] {
    const Mode result = link();
    is_fork_child = true;  // a later fork child reads this in its copy
    return result;
  });
}

void name_allocator() noexcept {
  write_allocator_name(allocator_name, sizeof allocator_name);
  std::memcpy(process.block->allocator, allocator_name, sizeof allocator_name);
}

}  // namespace heapwright::record
