// SPDX-License-Identifier: MIT
#include "record/link.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "platform/clock.hpp"
#include "platform/futex.hpp"
#include "platform/raw_syscall.hpp"
#include "record/allocator_name.hpp"
#include "record/lane.hpp"
#include "record/process.hpp"
#include "record/python.hpp"
#include "record/real_functions.hpp"
#include "record/sampling.hpp"
#include "record/session_link.hpp"
#include "record/start_notes.hpp"
#include "session/seccomp_status.hpp"
#include "unwind/loaded_objects.hpp"
#include "unwind/node_table.hpp"

namespace heapwright::record {

using platform::raw_argument;
using platform::raw_syscall;
using session::Control;
using session::ProcessBlock;

namespace {

// What every process maps of its block: the tables up to the nodes, the modules, and a lane. Nodes and
// modules are mapped as far as they are needed.
constexpr std::size_t tables_bytes =
    offsetof(ProcessBlock, nodes) + unwind::node_levels[0] * sizeof(session::NodeWord);
constexpr std::size_t modules_bytes = unwind::module_levels[0] * sizeof(session::ModuleEntry);

struct MappedBlock {
  ProcessBlock* block = nullptr;
  void* modules = nullptr;
  session::Lane* lane = nullptr;
};

// Of nullptr: nothing.
void unmap_block(const MappedBlock& mapped) noexcept {
  if (mapped.block != nullptr) unmap_part(mapped.block, tables_bytes);
  if (mapped.modules != nullptr) unmap_part(mapped.modules, modules_bytes);
  if (mapped.lane != nullptr) unmap_part(mapped.lane, sizeof(session::Lane));
}

// False: there is no memory for all of it, and nothing is mapped.
bool map_block(Control& control, int file, std::uint32_t index, MappedBlock& mapped) noexcept {
  const std::uint64_t offset = session::process_offset(index);
  const auto map = [&](std::size_t begin, std::size_t bytes) {
    return map_part(control, file, offset + begin, bytes);
  };
  mapped = {};
  mapped.block = static_cast<ProcessBlock*>(map(0, tables_bytes));
  if (mapped.block != nullptr) mapped.modules = map(offsetof(ProcessBlock, modules), modules_bytes);
  if (mapped.modules != nullptr) {
    mapped.lane = static_cast<session::Lane*>(map(offsetof(ProcessBlock, lanes), sizeof(session::Lane)));
  }
  if (mapped.lane != nullptr) return true;
  unmap_block(mapped);
  return false;
}

bool is_fork_child;
char allocator_name[sizeof(ProcessBlock::allocator)];

void place(unwind::MappedPart& part, void* memory, bool (*grow)(std::uint32_t) noexcept) noexcept {
  part.place.store(reinterpret_cast<std::uint64_t>(memory), std::memory_order_relaxed);
  part.grow = grow;
}

// Claims a free block: processes compete only for the state word. nullptr: no block is free, or there is no
// memory for it; the collector is informed.
ProcessBlock* claim_block(Control& control, int file) noexcept {
  const std::uint32_t first = control.next_process_hint.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t probe = 0; probe < session::max_processes; ++probe) {
    const std::uint32_t index = (first + probe) % session::max_processes;
    MappedBlock mapped;
    if (!map_block(control, file, index, mapped)) {
      report_refusal(control, session::refused_no_memory);
      return nullptr;
    }
    std::uint32_t expected = session::process_unused;
    if (mapped.block->state.compare_exchange_strong(expected, session::process_claimed,
                                                    std::memory_order_acq_rel)) {
      process.first_lane = mapped.lane;
      place(process.nodes, mapped.block->nodes, grow_nodes);
      place(process.modules, mapped.modules, grow_modules);
      return mapped.block;
    }
    unmap_block(mapped);
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

std::uint32_t seccomp_now() noexcept {
  char text[4096];  // about 1,500 are used
  const long file =
      raw_syscall(SYS_openat, AT_FDCWD, raw_argument("/proc/self/status"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return session::unknown_seccomp;
  const long bytes = raw_syscall(SYS_read, file, raw_argument(text), sizeof text);
  raw_syscall(SYS_close, file);
  if (bytes <= 0) return session::unknown_seccomp;
  return session::seccomp_status({text, static_cast<std::size_t>(bytes)});
}

// The loader may have been told to run a program: `ld.so PROGRAM`. Then the kernel knows only the loader.
void write_executable(ProcessBlock& block) noexcept {
  char* const to = block.executable;
  constexpr std::size_t room = sizeof block.executable;
  const bool is_by_loader = getauxval(AT_BASE) == 0 && program_invocation_name != nullptr;
  if (is_by_loader && std::strchr(program_invocation_name, '/') != nullptr) {
    return write_absolute(to, room, program_invocation_name);
  }
  const long length = platform::read_link("/proc/self/exe", to, room - 1);
  to[length > 0 ? length : 0] = '\0';
}

void describe_process(ProcessBlock& block) noexcept {
  block.process_id = process.process_id;
  block.parent_process_id = process.parent_process_id;
  block.seccomp_at_start = seccomp_now();
  block.is_fork_child = is_fork_child ? 1 : 0;
  block.pid_namespace = process.pid_namespace;
  block.start_ticks = rare_ticks(process.ticks_are_tsc);
  write_executable(block);
  const auto* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  copy_text(block.started_as, sizeof block.started_as, started_as == nullptr ? "" : started_as);
  block.has_no_unwind_tables = unwind::can_find_objects() ? 0 : 1;
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
  process.tables = {.block = block,
                    .nodes = &process.nodes,
                    .modules = &process.modules,
                    .max_frames = control->max_frames,
                    .ticks_are_tsc = process.ticks_are_tsc,
                    .interpreter = &process.interpreter};
  remember_ids();
  describe_process(*block);
  if (process.sample_mean_bytes != 0 && !prepare_sampling()) {
    report_refusal(*control, session::refused_no_memory);
    return Mode::dormant;
  }
  begin_lanes(is_fork_child, process.first_lane);
  forget_interpreter_tables();
  use_interpreter();
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
