// SPDX-License-Identifier: MIT
#include "record/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "platform/clock.hpp"
#include "platform/futex.hpp"
#include "platform/raw_syscall.hpp"
#include "record/allocator_name.hpp"
#include "record/lane.hpp"
#include "record/own_names.hpp"
#include "record/real_functions.hpp"
#include "record/sampling.hpp"

extern char** environ;

namespace heapwright::record {

using platform::raw_argument;
using platform::raw_syscall;
using session::Control;
using session::Lane;
using session::ProcessBlock;

constinit WipedOnFork wiped_on_fork{};
constinit Process process{};

namespace {

constexpr std::size_t tables_bytes = offsetof(ProcessBlock, lanes);

char found_session_path[session_path_bytes];
bool is_fork_child;
bool lanes_mapped_at_once;
bool collector_was_visible;
std::uint32_t block_index;
char allocator_name[sizeof(ProcessBlock::allocator)];

void* map_shared(int file, std::uint64_t offset, std::size_t bytes) noexcept {
  const long address = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_NORESERVE, file, static_cast<long>(offset));
  if (address < 0 && address > -4096) return nullptr;
  // Not in core dumps: it is the recorder's memory, not the program's.
  raw_syscall(SYS_madvise, address, static_cast<long>(bytes), MADV_DONTDUMP);
  return reinterpret_cast<void*>(address);
}

void unmap(void* address, std::size_t bytes) noexcept {
  raw_syscall(SYS_munmap, raw_argument(address), static_cast<long>(bytes));
}

int open_session() noexcept {
  return static_cast<int>(
      raw_syscall(SYS_openat, AT_FDCWD, raw_argument(found_session_path), O_RDWR | O_CLOEXEC));
}

void close_session(int file) noexcept { raw_syscall(SYS_close, file); }

bool starts_with(const char* text, const char* prefix) noexcept {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

void remove(char** variable) noexcept {
  do {
    variable[0] = variable[1];
  } while (*variable++ != nullptr);
}

// Takes our own library out of a list of libraries, in place.
void remove_self(char* list) noexcept {
  char* write = list;
  while (*list != '\0') {
    char* end = list;
    while (*end != '\0' && *end != ':' && *end != ' ') ++end;
    const char separator = *end;
    *end = '\0';
    const bool is_ours = std::strstr(list, "libheapwright-record.so") != nullptr;
    *end = separator;
    const std::size_t length = static_cast<std::size_t>(end - list) + (separator != '\0' ? 1 : 0);
    if (!is_ours) {
      std::memmove(write, list, length);
      write += length;
    }
    list += length;
  }
  *write = '\0';
}

// Takes the recording out of the environment, so that programs started by
// this one run without it. In place: nothing may be allocated here.
void leave_no_trace_in(char** variables) noexcept {
  for (char** variable = variables; *variable != nullptr;) {
    bool is_removed = starts_with(*variable, session::session_variable);
    if (starts_with(*variable, "LD_PRELOAD=")) {
      char* value = *variable + sizeof "LD_PRELOAD=" - 1;
      remove_self(value);
      is_removed = *value == '\0';
    }
    if (is_removed) {
      remove(variable);
    } else {
      ++variable;
    }
  }
}

// Keeps the value of HEAPWRIGHT_SESSION, which leaves the environment.
bool find_session_path() noexcept {
  if (found_session_path[0] != '\0') return true;
  constexpr std::size_t name_length = sizeof session::session_variable - 1;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!starts_with(*variable, session::session_variable) || (*variable)[name_length] != '=') continue;
    const char* value = *variable + name_length + 1;
    const std::size_t length = std::strlen(value);
    if (length == 0 || length >= sizeof found_session_path) return false;
    std::memcpy(found_session_path, value, length + 1);
    return true;
  }
  return false;
}

Control* map_control(int file) noexcept {
  auto* control = static_cast<Control*>(map_shared(file, 0, session::control_bytes));
  if (control == nullptr) return nullptr;
  if (control->magic == session::magic && control->layout_bytes == sizeof(ProcessBlock) / 4096 &&
      control->is_closed.load(std::memory_order_acquire) == 0) {
    return control;
  }
  unmap(control, session::control_bytes);
  return nullptr;
}

bool has_address_space_limit() noexcept {
  rlimit limit{};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, raw_argument(&limit));
  return limit.rlim_cur != RLIM_INFINITY;
}

// Claims a free block: the state word is the only thing processes race for.
ProcessBlock* claim_block(Control& control, int file) noexcept {
  const std::uint32_t first = control.next_process_hint.fetch_add(1, std::memory_order_relaxed);
  lanes_mapped_at_once = !has_address_space_limit();
  const std::size_t mapped_bytes = lanes_mapped_at_once ? sizeof(ProcessBlock) : tables_bytes;
  for (std::uint32_t probe = 0; probe < session::max_processes; ++probe) {
    const std::uint32_t index = (first + probe) % session::max_processes;
    void* memory = map_shared(file, session::process_offset(index), mapped_bytes);
    if (memory == nullptr) return nullptr;
    auto* block = static_cast<ProcessBlock*>(memory);
    std::uint32_t expected = session::process_unused;
    if (block->state.compare_exchange_strong(expected, session::process_claimed, std::memory_order_acq_rel)) {
      block_index = index;
      return block;
    }
    unmap(memory, mapped_bytes);
  }
  control.processes_refused.fetch_add(1, std::memory_order_relaxed);
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
  block.start_ticks = platform::read_ticks(process.ticks_are_tsc);
  const long length = raw_syscall(SYS_readlink, raw_argument("/proc/self/exe"),
                                  raw_argument(block.executable), sizeof block.executable - 1);
  block.executable[length > 0 ? length : 0] = '\0';
  const auto* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  copy_text(block.started_as, sizeof block.started_as, started_as == nullptr ? "" : started_as);
  block.has_no_unwind_tables = can_find_objects() ? 0 : 1;
  // Asked only when the allocator is surely not under way itself.
  copy_text(block.allocator, sizeof block.allocator,
            allocator_name[0] != '\0' ? allocator_name : allocator_path());
}

Mode link() noexcept {
  if (real.malloc == nullptr) find_real_functions();
  if (is_fork_child &&
      (process.control == nullptr || (process.control->flags & session::follow_children) == 0)) {
    return Mode::dormant;
  }
  if (!find_session_path()) return Mode::dormant;
  const int file = open_session();
  if (file < 0) return Mode::dormant;
  Control* control = map_control(file);
  ProcessBlock* block = control == nullptr ? nullptr : claim_block(*control, file);
  close_session(file);
  if (block == nullptr) return Mode::dormant;
  const std::uint32_t flags = control->flags;
  process.control = control;
  process.block = block;
  process.ticks_are_tsc = (flags & session::clock_is_tsc) != 0;
  process.durations = (flags & session::record_durations) != 0;
  process.stacks = (flags & session::record_stacks) != 0;
  process.free_stacks = process.stacks && (flags & session::record_free_stacks) != 0;
  process.sample_mean_bytes = control->sample_mean_bytes;
  process.tables = {
      .block = block, .max_frames = control->max_frames, .ticks_are_tsc = process.ticks_are_tsc};
  collector_was_visible = raw_syscall(SYS_kill, control->collector_process_id, 0) == 0;
  describe_process(*block);
  if (process.sample_mean_bytes != 0 && !prepare_sampling(process.sample_mean_bytes)) return Mode::dormant;
  begin_lanes(is_fork_child);
  block->state.store(session::process_live, std::memory_order_release);
  if (control->collector_sleeps.exchange(0) != 0) platform::futex_wake(control->collector_sleeps);
  return Mode::active;
}

std::uint64_t this_thread() noexcept { return reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()); }

}  // namespace

bool link_process() noexcept {
  for (;;) {
    Mode mode = wiped_on_fork.mode.load(std::memory_order_acquire);
    if (mode == Mode::active) return true;
    if (mode == Mode::dormant) return false;
    if (mode == Mode::linking) {
      if (wiped_on_fork.linking_thread.load(std::memory_order_relaxed) == this_thread()) return false;
      raw_syscall(SYS_sched_yield);
      continue;
    }
    // The loader allocates before libc has an environment: not the program's
    // calls, and too early to look anything up.
    if (environ == nullptr) return false;
    if (!wiped_on_fork.mode.compare_exchange_strong(mode, Mode::linking, std::memory_order_acquire)) continue;
    wiped_on_fork.linking_thread.store(this_thread(), std::memory_order_relaxed);
    const int saved_errno = errno;
    raw_syscall(SYS_madvise, raw_argument(&wiped_on_fork), sizeof wiped_on_fork, 18 /* MADV_WIPEONFORK */);
    const Mode result = link();
    is_fork_child = true;  // what a later fork child will read in its copy
    errno = saved_errno;
    wiped_on_fork.linking_thread.store(0, std::memory_order_relaxed);
    wiped_on_fork.mode.store(result, std::memory_order_release);
    return result == Mode::active;
  }
}

const char* session_path() noexcept { return found_session_path; }

Lane* map_lane(std::uint32_t index) noexcept {
  if (lanes_mapped_at_once) return &process.block->lanes[index];
  const int file = open_session();
  if (file < 0) return nullptr;
  const std::uint64_t offset =
      session::process_offset(block_index) + tables_bytes + index * std::uint64_t{sizeof(Lane)};
  void* lane = map_shared(file, offset, sizeof(Lane));
  close_session(file);
  return static_cast<Lane*>(lane);
}

bool is_collector_alive() noexcept {
  if (process.control->is_closed.load(std::memory_order_acquire) != 0) return false;
  if (!collector_was_visible) return true;
  return raw_syscall(SYS_kill, process.control->collector_process_id, 0) != -ESRCH;
}

namespace {

// The allocator may set itself up meanwhile: calls of its own.
void tell_allocator() noexcept {
  ThreadRecorder* thread = enter(__builtin_frame_address(0));
  write_allocator_name(allocator_name, sizeof allocator_name);
  if (thread != nullptr) thread->activity = Activity::program;
  std::memcpy(process.block->allocator, allocator_name, sizeof allocator_name);
}

// Runs before main; earlier heap calls have linked already.
__attribute__((constructor)) void at_load() {
  const bool is_active = link_process();
  if (is_active) {
    tell_allocator();
    bind_own_names();
  }
  const bool follows = is_active && (process.control->flags & session::follow_children) != 0;
  if (!follows && environ != nullptr) leave_no_trace_in(environ);
}

}  // namespace

}  // namespace heapwright::record
