// SPDX-License-Identifier: MIT
#include "attach/recorder/children.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "attach/agent/confining.hpp"
#include "attach/agent/thread_table.hpp"
#include "attach/recorder/agent_data.hpp"
#include "platform/clock.hpp"
#include "platform/raw_syscall.hpp"
#include "record/extended_environment.hpp"
#include "record/start_claims.hpp"

namespace heapwright::attach::recorder {

using agent::Entry;
using platform::raw_argument;
using platform::raw_syscall;
using session::Control;
using session::ProcessBlock;

namespace {

constexpr std::uint64_t block_bytes = mapped_bytes - session::process_offset(0);

bool is_error(long result) noexcept { return result < 0 && result > -4096; }

void unmap(ProcessBlock* block) noexcept {
  raw_syscall(SYS_munmap, raw_argument(block), static_cast<long>(block_bytes));
}

// A second mapping of the session, as far as a process uses its block; nullptr: there is no room. It needs no
// file and no permission (record/session_link.cpp).
ProcessBlock* map_block(Control& control, std::uint32_t index) noexcept {
  const auto skipped = static_cast<long>(session::process_offset(index));
  const long whole = raw_syscall(SYS_mremap, raw_argument(&control), 0,
                                 skipped + static_cast<long>(block_bytes), MREMAP_MAYMOVE);
  if (is_error(whole)) return nullptr;
  raw_syscall(SYS_munmap, whole, skipped);
  raw_syscall(SYS_madvise, whole + skipped, static_cast<long>(block_bytes), MADV_DONTDUMP);
  return reinterpret_cast<ProcessBlock*>(whole + skipped);
}

// One of the next few: a crowd that has taken all of them is not waited for.
ProcessBlock* claim_block(Control& control) noexcept {
  constexpr std::uint32_t most_probes = 64;
  const std::uint32_t first = control.next_process_hint.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t probe = 0; probe < most_probes; ++probe) {
    ProcessBlock* const block = map_block(control, (first + probe) % session::max_processes);
    if (block == nullptr) return nullptr;
    std::uint32_t expected = session::process_unused;
    if (block->state.compare_exchange_strong(expected, session::process_claimed, std::memory_order_acq_rel)) {
      return block;
    }
    unmap(block);
  }
  return nullptr;
}

void describe(ProcessBlock& block, const ProcessBlock& parent) noexcept {
  block.process_id = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
  block.parent_process_id = static_cast<std::uint32_t>(raw_syscall(SYS_getppid));
  block.pid_namespace = record::own_pid_namespace();
  block.is_fork_child = session::forked_with_agent;
  block.start_ticks = platform::read_ticks(ticks_are_tsc());
  const long length = platform::read_link("/proc/self/exe", block.executable, sizeof block.executable - 1);
  block.executable[std::max(length, 0L)] = '\0';
  std::memcpy(block.started_as, parent.started_as, sizeof block.started_as);
  std::memcpy(block.allocator, parent.allocator, sizeof block.allocator);
}

// In the place of its parent's, which nothing uses any more: the only thread is here.
bool take_place(ProcessBlock* block) noexcept {
  const long moved = raw_syscall(SYS_mremap, raw_argument(block), static_cast<long>(block_bytes),
                                 static_cast<long>(block_bytes), MREMAP_MAYMOVE | MREMAP_FIXED,
                                 raw_argument(heapwright_agent.block));
  return !is_error(moved);
}

// The parent's lanes and samples are not this process's.
void forget_parent() noexcept {
  std::fill_n(heapwright_agent.claims, max_lanes, 1U);
  heapwright_agent.threads_unloading = 0;
  raw_syscall(SYS_madvise, raw_argument(heapwright_agent.sampled), sizeof(SampledMemory), MADV_DONTNEED);
}

// libc has put the new thread's id where the agent looks for it; a child of a plain clone() has its parent's.
bool knows_its_thread() noexcept {
  if (heapwright_agent.identity_offset == own_address_offset) return true;
  const std::uint64_t identity = identity_of_caller(agent::thread_pointer());
  return static_cast<std::uint32_t>(identity) == static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
}

bool follows(const Control& control) noexcept {
  return (control.flags & session::follow_children) != 0 && session::is_collector_alive(control);
}

bool link() noexcept {
  Control& control = *heapwright_agent.control;
  const ProcessBlock& parent = *heapwright_agent.block;
  const bool is_filtered = heapwright_agent.is_filtered != 0 || parent.is_confined.load() != 0;
  if (!follows(control) || is_filtered || !knows_its_thread()) return false;
  ProcessBlock* const block = claim_block(control);
  if (block == nullptr) return false;
  describe(*block, parent);
  if (!take_place(block)) {
    block->state.store(session::process_unused, std::memory_order_release);
    unmap(block);
    heapwright_agent.has_images = 0;  // its parent's block may be gone as well
    return false;
  }
  forget_parent();
  heapwright_agent.block->state.store(session::process_live, std::memory_order_release);
  if (control.collector_sleeps.exchange(0) != 0) platform::futex_wake(control.collector_sleeps);
  return true;
}

// The calling thread is about to lose the time stamp counter, for which the kernel would kill it; so will
// threads and children that it makes. It is not recorded any more, nor is what begins later.
void give_up_clock() noexcept {
  constexpr std::uint64_t being_taken = 0;
  heapwright_agent.is_filtered = 1;
  heapwright_agent_threads.is_active = 0;
  Thread* const thread = agent::find_entry(heapwright_agent_threads.threads, agent::thread_pointer());
  if (thread == nullptr || thread->identity >> 32 != heapwright_agent.common.attachment) return;
  if (thread->lane != nullptr) thread->lane->dropped_full.fetch_add(1, std::memory_order_relaxed);
  __atomic_store_n(&thread->identity, being_taken, __ATOMIC_RELEASE);
}

// Before a filter is installed: from then on nothing is asked of the kernel that the program would not ask.
void be_confined() noexcept {
  Origin expected = Origin::forked;
  if (heapwright_agent_threads.origin.compare_exchange_strong(expected, Origin::linked,
                                                              std::memory_order_acq_rel)) {
    return;  // a child without a heap call so far: never recorded
  }
  if (heapwright_agent_threads.is_active != 0) heapwright_agent.block->is_confined.fetch_add(1);
}

void heed(agent::Confining confining) noexcept {
  if (confining.takes_calls) be_confined();
  if (confining.takes_clock) give_up_clock();
}

// The calling process's note that it is to be replaced. Only while the session is mapped.
record::StartNote note_exec(Control& control, session::StartKind kind, const char* path) noexcept {
  const record::Starts starts{control.starts, session::max_starts};
  const record::StartNote note =
      record::claim_start(control, starts, kind, platform::read_ticks(ticks_are_tsc()), record::write_owner);
  if (note.entry == nullptr) return note;
  record::write_absolute(note.entry->program, sizeof note.entry->program, path, true);
  if (record::publish_start(note, static_cast<pid_t>(raw_syscall(SYS_getpid)))) {
    record::tell_of_start(control, true);
  }
  return note;
}

// Whether the image that replaces the calling process is to be recorded. False after the process was detached
// from: then the session may be gone.
bool hands_on() noexcept {
  return __atomic_load_n(&heapwright_agent.has_images, __ATOMIC_ACQUIRE) != 0 &&
         heapwright_agent.is_filtered == 0 && follows(*heapwright_agent.control) &&
         heapwright_agent.block->is_confined.load(std::memory_order_relaxed) == 0;
}

}  // namespace

bool link_forked() noexcept {
  Origin expected = Origin::forked;
  std::atomic<Origin>& origin = heapwright_agent_threads.origin;
  if (origin.load(std::memory_order_relaxed) != Origin::forked ||
      !origin.compare_exchange_strong(expected, Origin::linking, std::memory_order_acq_rel)) {
    return false;
  }
  const bool is_recorded = link();
  heapwright_agent_threads.is_active = is_recorded ? 1 : 0;
  origin.store(Origin::linked, std::memory_order_release);
  return is_recorded;
}

int hook_execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  // The stack of a child of posix_spawn has 32 KiB.
  constexpr std::size_t most_pointers = 1024;
  constexpr std::size_t most_bytes = 4096;
  auto* const call = reinterpret_cast<int (*)(const char*, char* const*, char* const*)>(
      heapwright_agent.common.real[agent::index_of(Entry::execve_)]);
  if (path == nullptr || !hands_on()) return call(path, arguments, environment);
  const record::ExtendedEnvironment extended(environment,
                                             {heapwright_agent.library, heapwright_agent.session});
  if (extended.pointers() > most_pointers || extended.bytes() > most_bytes) {
    return call(path, arguments, environment);
  }
  char* room[extended.pointers()];
  char text[extended.bytes()];
  note_exec(*heapwright_agent.control, session::start_exec, path);
  const int result = call(path, arguments, extended.write(room, text));
  if (hands_on()) note_exec(*heapwright_agent.control, session::start_exec_failed, "");
  return result;
}

int hook_prctl(int option, long a, long b, long c, long d) noexcept {
  heed(agent::confining_by_prctl(option, a));
  return reinterpret_cast<int (*)(int, long, long, long, long)>(
      heapwright_agent.common.real[agent::index_of(Entry::prctl_)])(option, a, b, c, d);
}

long hook_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  heed(agent::confining_by_syscall(number, a, b));
  return reinterpret_cast<long (*)(long, long, long, long, long, long, long)>(
      heapwright_agent.common.real[agent::index_of(Entry::syscall_)])(number, a, b, c, d, e, f);
}

}  // namespace heapwright::attach::recorder
