// SPDX-License-Identifier: MIT
#include "apply/idle_trim.hpp"

#include <dlfcn.h>
#include <time.h>

#include "apply/helper_thread.hpp"
#include "apply/next_functions.hpp"
#include "counters/head.hpp"
#include "heap/service/maintenance.hpp"
#include "platform/next_symbols.hpp"

namespace heapwright::apply {

namespace {

int (*trim_heap)(std::size_t) = nullptr;
constinit counters::Counter trims{};

std::uint64_t nanoseconds(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

void sleep_ms(std::uint32_t ms) noexcept {
  const timespec span{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000) * 1'000'000};
  nanosleep(&span, nullptr);
}

void trim_all() noexcept {
  counters::add_owned(trims, 1);
  if (trim_heap != nullptr) trim_heap(0);
  constexpr std::size_t slice = 1024;
  while (heap::maintain(slice, 0) == slice) {
  }
}

// Idle: at most a twentieth of a processor. What trimming itself took is not the program's work.
void* trim_when_idle(void* ms) {
  const auto every_ms = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(ms));
  constexpr std::uint64_t idle_share = 20;
  bool has_worked = true;
  std::uint64_t begin_ns = nanoseconds(CLOCK_MONOTONIC);
  std::uint64_t used_ns = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  for (;;) {
    sleep_ms(every_ms);
    const std::uint64_t elapsed_ns = nanoseconds(CLOCK_MONOTONIC) - begin_ns;
    const bool is_idle = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - used_ns <= elapsed_ns / idle_share;
    if (is_idle && has_worked) trim_all();
    has_worked = !is_idle;
    begin_ns = nanoseconds(CLOCK_MONOTONIC);
    used_ns = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  }
}

}  // namespace

std::uint64_t idle_trims() noexcept { return trims.load(std::memory_order_relaxed); }

bool start_idle_trim(std::uint32_t every_ms, bool has_site_heaps) noexcept {
  trim_heap = reinterpret_cast<int (*)(std::size_t)>(dlsym(RTLD_NEXT, "malloc_trim"));
  // The C library's gives back nothing of another allocator's.
  if (platform::object_of(trim_heap) != platform::object_of(next.malloc)) trim_heap = nullptr;
  if (trim_heap == nullptr && !has_site_heaps) return false;
  return start_helper_thread(trim_when_idle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(every_ms)));
}

}  // namespace heapwright::apply
