// SPDX-License-Identifier: MIT
#include "heap/base/own_thread.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <cstdint>

#include "heap/base/clock.hpp"
#include "heap/base/confinement.hpp"
#include "heap/base/rights.hpp"
#include "heap/base/size_class.hpp"
#include "heap/base/system_pages.hpp"
#include "platform/futex.hpp"
#include "platform/new_thread.hpp"
#include "platform/pause.hpp"
#include "platform/raw_syscall.hpp"
#include "platform/valgrind.hpp"

namespace heapwright::heap {

namespace {

// lost: the forking parent had the thread; left: it ended because no memory waited, or for a change.
enum State : std::uint32_t { absent, starting, present, lost, left, forbidden };

struct Thread {
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> alive;  // its id; the kernel clears it at its end
  std::atomic<std::uint32_t> bell;   // incremented to wake it
  std::atomic<bool> is_to_end;
  std::atomic<std::uint32_t> changes;  // of the process, under way: it ends, and none is started
  std::atomic<std::uint32_t> all_changes;
  std::atomic<std::uint64_t> last_change_ns;
  std::atomic<std::uint32_t> process;  // whose thread it is: not a child's that shares its parent's memory
  char* mapping;
};
constinit Thread thread{};
constinit ThreadWork work{};

// Two parts of one unit each, with guard units before, between and behind.
constexpr std::size_t part_bytes = unit_bytes;
constexpr std::size_t mapping_bytes = 5 * part_bytes;
char* stack_of(char* mapping) noexcept { return mapping + part_bytes; }
char* storage_of(char* mapping) noexcept { return mapping + 3 * part_bytes; }

std::uint32_t this_process() noexcept {
  return static_cast<std::uint32_t>(platform::raw_syscall(SYS_getpid));
}

// By the thread itself, which then ends. Its start may still be under way.
void forbid_another() noexcept {
  std::uint32_t expected = present;
  while (!thread.state.compare_exchange_strong(expected, forbidden, std::memory_order_seq_cst)) {
    if (expected != starting) return;
    expected = present;
    platform::pause();
  }
}

// A filter of its own would get into the way of the process's, where it does not end before.
[[noreturn]] void begin() noexcept {
  platform::raw_syscall(SYS_prctl, PR_SET_NAME, platform::raw_argument("heapwright"));
  give_up_rights();
  const bool is_confined = is_thread_ended_before_changes() && confine_thread();
  if (is_confined || work.may_be_unconfined) {
    work.run();
  } else {
    forbid_another();
  }
  for (;;) platform::raw_syscall(SYS_exit, 0);
}

// Thread-local variables are below the thread pointer on x86-64, above it on aarch64.
#if defined(__aarch64__)
constexpr std::size_t pointer_at = 1024;
#else
constexpr std::size_t pointer_at = part_bytes - 1024;
#endif

// The thread's own thread pointer, which identifies it to locks, and its variable at
// the same offset as in libc's threads.
void* prepare_storage(char* storage) noexcept {
  auto* pointer = reinterpret_cast<void**>(storage + pointer_at);
  *pointer = pointer;
  char* const place = reinterpret_cast<char*>(pointer) + work.variable_offset;
  if (place < storage || place + sizeof(void*) > storage + part_bytes) return nullptr;
  *reinterpret_cast<void**>(place) = work.variable;
  return pointer;
}

bool map_parts() noexcept {
  if (thread.mapping != nullptr) return true;
  auto* mapping = static_cast<char*>(map_out_of_reach(mapping_bytes));
  if (mapping == nullptr) return false;
  if (!make_writable(stack_of(mapping), part_bytes) || !make_writable(storage_of(mapping), part_bytes)) {
    unmap(mapping, mapping_bytes);
    return false;
  }
  thread.mapping = mapping;
  return true;
}

long clone_thread(void* stack_top, void* pointer) noexcept {
  constexpr long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                         CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  return platform::new_thread(flags, stack_top, thread.alive, pointer, [] { begin(); });
}

// The previous thread has ended, or is executing its last instructions.
bool await_end() noexcept {
  constexpr std::uint64_t look_ns = 10'000'000;
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t id = thread.alive.load(std::memory_order_acquire);
    if (id == 0) return true;
    platform::futex_wait(thread.alive, id, look_ns);
  }
  return false;
}

enum class Start : std::uint8_t { done, put_off, refused };

Start start_thread() noexcept {
  if (thread.process.load(std::memory_order_relaxed) != this_process()) return Start::put_off;
  // Valgrind's own calls would be made by a thread that may make none, which would end the process.
  if (platform::is_in_valgrind() || !map_parts() || !await_end()) return Start::refused;
  // In this order: a change that begins now either is seen here, or tells the new thread to end.
  thread.is_to_end = false;
  if (thread.changes.load(std::memory_order_seq_cst) != 0) return Start::put_off;
  void* const pointer = prepare_storage(storage_of(thread.mapping));
  if (pointer == nullptr) return Start::refused;
  std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  platform::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, platform::raw_argument(&all),
                        platform::raw_argument(&before), sizeof(all));
  const long id = clone_thread(stack_of(thread.mapping) + part_bytes, pointer);
  platform::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, platform::raw_argument(&before), 0, sizeof(before));
  return id > 0 ? Start::done : Start::refused;
}

// A program that keeps changing, say its user for each request, would end and start the thread each time.
// The first changes, of a program that gives up rights at its start, do not count.
bool is_changing_often() noexcept {
  constexpr std::uint32_t free_changes = 16;
  constexpr std::uint64_t rest_ns = 1'000'000'000;
  return thread.all_changes.load(std::memory_order_relaxed) > free_changes &&
         coarse_ns() - thread.last_change_ns.load(std::memory_order_relaxed) < rest_ns;
}

bool start_from(std::uint32_t state) noexcept {
  const std::uint32_t before = state;
  if (work.run == nullptr || thread.changes.load(std::memory_order_relaxed) != 0 || is_changing_often()) {
    return false;
  }
  if (!thread.state.compare_exchange_strong(state, starting, std::memory_order_seq_cst)) return false;
  update_tick();
  const Start start = start_thread();
  // If refused, it is not tried again. If forbidden meanwhile, it was told to end.
  const std::uint32_t next = start == Start::done ? present : start == Start::put_off ? before : forbidden;
  std::uint32_t expected = starting;
  thread.state.compare_exchange_strong(expected, next, std::memory_order_seq_cst);
  return start == Start::done;
}

// With thread.changes raised.
void end_thread() noexcept {
  thread.is_to_end = true;
  while (thread.state.load(std::memory_order_seq_cst) == starting) sched_yield();
  if (thread.alive.load(std::memory_order_acquire) == 0) return;
  thread.bell.fetch_add(1, std::memory_order_seq_cst);
  platform::futex_wake(thread.bell);
  await_end();
}

}  // namespace

void set_thread_work(const ThreadWork& of_thread) noexcept {
  work = of_thread;
  thread.process.store(this_process(), std::memory_order_relaxed);
}

void start_maintenance() noexcept {
  if (thread.state.load(std::memory_order_relaxed) == absent) start_from(absent);
}

void restart_maintenance() noexcept {
  if (thread.state.load(std::memory_order_relaxed) == lost) start_from(lost);
}

bool restart_idle_thread() noexcept {
  return thread.state.load(std::memory_order_relaxed) == left && start_from(left);
}

std::uint32_t thread_bell() noexcept { return thread.bell.load(); }
bool is_thread_to_end() noexcept { return thread.is_to_end; }
void sleep_until_rung(std::uint32_t seen, std::uint64_t most_ns) noexcept {
  platform::futex_wait(thread.bell, seen, most_ns);
}

bool leave_thread() noexcept {
  std::uint32_t expected = present;
  if (!thread.state.compare_exchange_strong(expected, left, std::memory_order_seq_cst)) {
    return expected != starting;  // otherwise start_from() would mark an ended thread as present
  }
  if (thread.is_to_end || waiting.is_there.load(std::memory_order_seq_cst) == 0) return true;
  expected = left;
  return !thread.state.compare_exchange_strong(expected, present, std::memory_order_seq_cst);
}

void announce_waiting_memory() noexcept {
  update_tick();
  if (waiting.is_there.exchange(1, std::memory_order_seq_cst) != 0 || !is_maintenance_thread_there()) return;
  thread.bell.fetch_add(1, std::memory_order_seq_cst);
  platform::futex_wake(thread.bell);
}

bool is_maintenance_thread_there() noexcept {
  const std::uint32_t state = thread.state.load(std::memory_order_seq_cst);
  return state == present || state == starting;
}

void forbid_maintenance_thread() noexcept {
  thread.changes.fetch_add(1, std::memory_order_seq_cst);
  end_thread();
  thread.state.store(forbidden, std::memory_order_seq_cst);
}

void begin_change() noexcept {
  if (work.run == nullptr) return;
  thread.changes.fetch_add(1, std::memory_order_seq_cst);
  thread.all_changes.fetch_add(1, std::memory_order_relaxed);
  end_thread();
  std::uint32_t expected = present;
  thread.state.compare_exchange_strong(expected, left, std::memory_order_seq_cst);
}

void end_change() noexcept {
  if (work.run == nullptr) return;
  thread.last_change_ns.store(coarse_ns(), std::memory_order_relaxed);
  if (thread.changes.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  if (waiting.is_there.load(std::memory_order_seq_cst) != 0) restart_idle_thread();
}

bool is_maintenance_thread() noexcept {
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  const char* stack = thread.mapping == nullptr ? nullptr : stack_of(thread.mapping);
  return stack != nullptr && here >= stack && here < stack + part_bytes;
}

void forget_maintenance_thread() noexcept {
  thread.alive.store(0, std::memory_order_relaxed);
  thread.changes.store(0, std::memory_order_relaxed);  // of threads that the child does not have
  thread.process.store(this_process(), std::memory_order_relaxed);
  const std::uint32_t state = thread.state.load(std::memory_order_relaxed);
  if (state == present || state == starting) thread.state.store(lost, std::memory_order_relaxed);
}

}  // namespace heapwright::heap
