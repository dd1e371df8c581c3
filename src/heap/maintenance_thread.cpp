// SPDX-License-Identifier: MIT
#include "heap/maintenance_thread.hpp"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include <atomic>
#include <cstdint>

#include "heap/caches.hpp"
#include "heap/clock.hpp"
#include "heap/maintenance.hpp"
#include "heap/publish.hpp"
#include "heap/settings.hpp"
#include "heap/system_pages.hpp"
#include "platform/futex.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

namespace {

// lost: the parent of this process had one; left: it ended because nothing waited.
enum State : std::uint32_t { absent, starting, present, lost, left, forbidden };

struct Thread {
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> alive;  // its id; the kernel clears it when it is gone
  std::atomic<std::uint32_t> bell;   // counted up to wake it
  std::atomic<bool> is_to_end;
  char* mapping;
};
constinit Thread thread{};

// Each part a unit, with one that cannot be reached before, between and behind.
constexpr std::size_t part_bytes = unit_bytes;
constexpr std::size_t mapping_bytes = 5 * part_bytes;
char* stack_of(char* mapping) noexcept { return mapping + part_bytes; }
char* storage_of(char* mapping) noexcept { return mapping + 3 * part_bytes; }

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
};

bool has_capabilities() noexcept {
  Capabilities of_process;
  const long result = platform::raw_syscall(SYS_capget, platform::raw_argument(&of_process.header),
                                            platform::raw_argument(of_process.data));
  if (result != 0) return true;
  std::uint32_t all = 0;
  for (const auto& word : of_process.data) all |= word.effective | word.permitted;
  return all != 0;
}

void give_up_rights() noexcept {
  Capabilities none;
  platform::raw_syscall(SYS_capset, platform::raw_argument(&none.header), platform::raw_argument(none.data));
}

void sleep_until_rung(std::uint32_t seen, std::uint64_t most_ns) noexcept {
  platform::futex_wait(thread.bell, seen, most_ns);
}

// False: it is to go on, because memory came to wait meanwhile.
bool leave() noexcept {
  std::uint32_t expected = present;
  thread.state.compare_exchange_strong(expected, left, std::memory_order_seq_cst);
  if (thread.is_to_end || memory_waits.load(std::memory_order_seq_cst) == 0) return true;
  expected = left;
  return !thread.state.compare_exchange_strong(expected, present, std::memory_order_seq_cst);
}

// With work left, a short pause lets others at the locks and the CPU. While
// memory rests, a few looks during that time will do.
std::uint64_t pause_after(const Look& look, std::size_t slice) noexcept {
  constexpr std::uint64_t linger_ns = 5'000'000'000;
  if (look.pieces == slice) return tick_ns / 16;
  if (look.has_surplus || look.pieces != 0) return 2 * tick_ns;
  if (settings.publishes_counters) return 8 * tick_ns;
  return look.is_waiting ? (decay_ticks() / 8 + 2) * tick_ns : linger_ns;
}

void run() noexcept {
  constexpr std::size_t slice = 64;
  platform::raw_syscall(SYS_prctl, PR_SET_NAME, platform::raw_argument("heapwright"));
  give_up_rights();
  // At first, let the call go on that started the thread.
  sleep_until_rung(thread.bell.load(), tick_ns / 16);
  std::uint32_t last_bell = thread.bell.load() - 1;
  while (!thread.is_to_end) {
    const std::uint32_t bell = thread.bell.load();
    const Look look = look_after_memory(slice);
    if (settings.publishes_counters) publish_counters();
    const bool is_idle = look.pieces == 0 && !look.is_waiting && !settings.publishes_counters;
    if (is_idle && bell == last_bell && leave()) return;
    last_bell = bell;
    if (!thread.is_to_end) sleep_until_rung(bell, pause_after(look, slice));
  }
}

[[noreturn]] void begin() noexcept {
  run();
  for (;;) platform::raw_syscall(SYS_exit, 0);
}

// A thread pointer of its own, which locks know their holder by, with the
// thread's `current_cache` below it where libc's threads have theirs.
void* prepare_storage(char* storage) noexcept {
  auto* pointer = reinterpret_cast<void**>(storage + part_bytes - 1024);
  *pointer = pointer;
  const auto distance =
      reinterpret_cast<char*>(&current_cache) - static_cast<char*>(__builtin_thread_pointer());
  char* const place = reinterpret_cast<char*>(pointer) + distance;
  if (place < storage || place >= storage + part_bytes) return nullptr;
  *reinterpret_cast<ThreadCache**>(place) = &detached;
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
  long result = SYS_clone;
  register long r10 asm("r10") = platform::raw_argument(&thread.alive);
  register long r8 asm("r8") = platform::raw_argument(pointer);
  register void (*entry)() asm("r9") = [] { begin(); };
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "and $-16, %%rsp\n\t"
      "call *%%r9\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack_top), "d"(&thread.alive), "r"(r10), "r"(r8), "r"(entry)
      : "rcx", "r11", "memory");
  return result;
}

// The one before has ended, or is on its last instructions.
bool await_end() noexcept {
  constexpr std::uint64_t look_ns = 10'000'000;
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t id = thread.alive.load(std::memory_order_acquire);
    if (id == 0) return true;
    platform::futex_wait(thread.alive, id, look_ns);
  }
  return false;
}

bool start_thread() noexcept {
  if (!map_parts() || !await_end()) return false;
  void* const pointer = prepare_storage(storage_of(thread.mapping));
  if (pointer == nullptr) return false;
  std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  platform::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, platform::raw_argument(&all),
                        platform::raw_argument(&before), sizeof(all));
  const long id = clone_thread(stack_of(thread.mapping) + part_bytes, pointer);
  platform::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, platform::raw_argument(&before), 0, sizeof(before));
  return id > 0;
}

bool start_from(std::uint32_t state) noexcept {
  if (!settings.has_maintenance_thread) return false;
  if (!thread.state.compare_exchange_strong(state, starting, std::memory_order_seq_cst)) return false;
  update_tick();
  const bool is_started = start_thread();
  // Refused: nobody asks again. Forbidden meanwhile: it has been told to end.
  std::uint32_t expected = starting;
  thread.state.compare_exchange_strong(expected, is_started ? present : forbidden, std::memory_order_seq_cst);
  return is_started;
}

}  // namespace

bool is_thread_harmless() noexcept {
  return getauxval(AT_SECURE) == 0 && getauxval(AT_UID) != 0 && getauxval(AT_EUID) != 0 &&
         !has_capabilities();
}

void start_maintenance() noexcept {
  if (thread.state.load(std::memory_order_relaxed) == absent) start_from(absent);
}

[[gnu::hot]] void restart_maintenance() noexcept {
  if (thread.state.load(std::memory_order_relaxed) == lost) start_from(lost);
}

bool restart_idle_thread() noexcept {
  return thread.state.load(std::memory_order_relaxed) == left && start_from(left);
}

void wake_maintenance_thread() noexcept {
  if (!is_maintenance_thread_there()) return;
  thread.bell.fetch_add(1, std::memory_order_seq_cst);
  platform::futex_wake(thread.bell);
}

bool is_maintenance_thread_there() noexcept {
  const std::uint32_t state = thread.state.load(std::memory_order_seq_cst);
  return state == present || state == starting;
}

void forbid_maintenance_thread() noexcept {
  thread.is_to_end = true;
  while (thread.state.load(std::memory_order_seq_cst) == starting) sched_yield();
  thread.state.store(forbidden, std::memory_order_seq_cst);
  thread.bell.fetch_add(1, std::memory_order_seq_cst);
  platform::futex_wake(thread.bell);
  await_end();
}

bool is_maintenance_thread() noexcept {
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  const char* stack = thread.mapping == nullptr ? nullptr : stack_of(thread.mapping);
  return stack != nullptr && here >= stack && here < stack + part_bytes;
}

void forget_maintenance_thread() noexcept {
  thread.alive.store(0, std::memory_order_relaxed);
  const std::uint32_t state = thread.state.load(std::memory_order_relaxed);
  if (state == present || state == starting) thread.state.store(lost, std::memory_order_relaxed);
}

}  // namespace heapwright::heap
