// SPDX-License-Identifier: MIT
#include "count/thread.hpp"

#include <pthread.h>
#include <time.h>

#include <cerrno>

#include "counters/tally.hpp"
#include "platform/raw_syscall.hpp"

// Missing in libc (and in programs without libpthread) before glibc 2.34.
extern "C" {
[[gnu::weak]] int pthread_key_create(pthread_key_t*, void (*)(void*)) noexcept;
[[gnu::weak]] int pthread_setspecific(pthread_key_t, const void*) noexcept;
}

namespace heapwright::count {

using counters::max_call_tables;
using platform::raw_argument;
using platform::raw_syscall;

constinit WipedOnFork wiped_on_fork{};
constinit counters::CountedPage* page = nullptr;

namespace {

constexpr std::uint32_t common_table = 0;
constexpr std::uint32_t words = (max_call_tables + 63) / 64;

constinit Thread nobody{};     // has made no call yet
constinit Thread in_common{};  // counts in the first table, shared with others
constinit Thread aside{};      // inside libc, which may make its own heap calls

std::atomic<std::uint64_t> ended_tables[words];  // tables whose thread has ended
std::atomic<std::uint32_t> tables_begun{1};
pthread_key_t end_key;
bool has_end_key;

void at_thread_end(void* number) noexcept {
  const auto index = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(number) - 1);
  if (index >= max_call_tables || wiped_on_fork.mode.load(std::memory_order_relaxed) != Mode::active) return;
  if (index == common_table) {
    __atomic_fetch_add(&page->calls.tables[common_table].threads_ended, 1, __ATOMIC_RELAXED);
    return;
  }
  Thread& thread = wiped_on_fork.threads[index];
  if (current_thread != &thread || thread.table == nullptr) return;
  add_to_context(thread.context, *thread.table);
  thread.context.row = nullptr;
  // Later destructors make heap calls, too.
  current_thread = &in_common;
  ++thread.table->threads_ended;
  ended_tables[index / 64].fetch_or(1ULL << (index % 64), std::memory_order_release);
}

// A table of a thread that has ended. The shared one if there is none.
std::uint32_t take_ended_table() noexcept {
  for (std::uint32_t word = 0; word < words; ++word) {
    std::uint64_t bits = ended_tables[word].load(std::memory_order_acquire);
    while (bits != 0) {
      const std::uint64_t lowest = bits & -bits;
      if (ended_tables[word].compare_exchange_weak(bits, bits & ~lowest, std::memory_order_acq_rel)) {
        return word * 64 + static_cast<std::uint32_t>(__builtin_ctzll(lowest));
      }
    }
  }
  return common_table;
}

std::uint32_t take_new_table() noexcept {
  std::uint32_t next = tables_begun.load(std::memory_order_relaxed);
  do {
    if (next >= max_call_tables) return common_table;
  } while (!tables_begun.compare_exchange_weak(next, next + 1, std::memory_order_relaxed));
  return next;
}

// Makes at_thread_end() run, which requires a value other than 0.
void note_end_of(std::uint32_t index) noexcept {
  if (has_end_key) pthread_setspecific(end_key, reinterpret_cast<void*>(std::uintptr_t{index} + 1));
}

// A thread without its own table.
void begin_in_common() noexcept {
  __atomic_fetch_add(&page->calls.tables[common_table].threads_begun, 1, __ATOMIC_RELAXED);
  note_end_of(common_table);
  current_thread = &in_common;
}

void begin_thread() noexcept {
  std::uint32_t index = take_ended_table();
  if (index == common_table) index = take_new_table();
  if (index == common_table) return begin_in_common();
  CallTable& table = page->calls.tables[index];
  // The kernel writes first: it reports a full file system, while a store would end the process.
  if (raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, raw_argument(table.last_begun)) != 0) {
    return begin_in_common();
  }
  counters::raise(page->calls.section.tables_used, index + 1);
  Thread& thread = wiped_on_fork.threads[index];
  thread.table = &table;
  thread.random_state = (table.last_begun[1] << 20) ^ (table.last_begun[0] << 8) ^ (index + 1);
  thread.until_timed = counters::draw_until_timed(thread.random_state);
  thread.look = {};  // of an earlier thread
  ++table.threads_begun;
  thread.context.row = nullptr;
  begin_context(thread.context, table, *page, true);
  note_end_of(index);
  current_thread = &thread;
}

[[gnu::cold, gnu::noinline]] void claim_table() noexcept {
  const int saved_errno = errno;
  current_thread = &aside;
  begin_thread();
  errno = saved_errno;
}

}  // namespace

thread_local constinit Thread* current_thread = &nobody;

void begin_threads(bool is_fork_child) noexcept {
  if (is_fork_child) {
    for (auto& word : ended_tables) word.store(0, std::memory_order_relaxed);
    tables_begun.store(1, std::memory_order_relaxed);
    current_thread = &nobody;
  }
  if (!has_end_key && pthread_key_create != nullptr && pthread_setspecific != nullptr) {
    has_end_key = pthread_key_create(&end_key, at_thread_end) == 0;
  }
}

bool has_own_table() noexcept {
  if (current_thread->table == nullptr && current_thread != &in_common) claim_table();
  return current_thread != &in_common;
}

// By the thread pointer: two threads that share an entry are no harm.
void leave_others() noexcept {
  const bool counts_nothing = wiped_on_fork.mode.load(std::memory_order_relaxed) == Mode::dormant;
  if (current_thread != &nobody || !counts_nothing) return;
  const auto pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  current_thread = &wiped_on_fork.threads[(pointer >> 12) % max_call_tables];
}

bool is_aside() noexcept { return current_thread == &aside; }

Thread* step_aside() noexcept {
  Thread* const thread = current_thread;
  current_thread = &aside;
  return thread;
}

void step_back(Thread* thread) noexcept { current_thread = thread; }

std::uint64_t now_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t begin_timing() noexcept { return counters::begin_timing(current_thread->look, now_ns); }

counters::Took end_timing(std::uint64_t begin_ns) noexcept {
  return counters::end_timing(current_thread->look, begin_ns, now_ns());
}

}  // namespace heapwright::count
