// SPDX-License-Identifier: MIT
// A preloaded library links its process once, in the first heap call of any thread, and each fork child
// again. The state is in pages that the kernel zeroes in a child (MADV_WIPEONFORK), so the one load that each
// hook makes anyway detects every kind of fork. vfork children share the parent's state.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "platform/raw_syscall.hpp"

extern char** environ;

namespace heapwright::platform {

enum class Mode : std::uint32_t {
  unknown = 0,  // no heap call yet; also what a fork child finds
  linking = 1,  // one thread is linking
  active = 2,
  dormant = 3,  // nothing is recorded; hooks only forward
};

// The start of a wiped page.
struct LinkState {
  std::atomic<Mode> mode;
  std::atomic<std::uint64_t> linking_thread;  // thread pointer of the linking thread
};

// Whether the process is active. Wiped: starts with a LinkState, and consists of whole pages. Link: returns
// the Mode from now on; its own heap calls see an unlinked process, and those of other threads wait. Keeps
// errno. Threads: any.
template <class Wiped, class Link>
bool link_once(Wiped& wiped, Link link) noexcept {
  const auto self = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  for (;;) {
    Mode mode = wiped.mode.load(std::memory_order_acquire);
    if (mode == Mode::active) return true;
    if (mode == Mode::dormant) return false;
    if (mode == Mode::linking) {
      if (wiped.linking_thread.load(std::memory_order_relaxed) == self) return false;
      raw_syscall(SYS_sched_yield);
      continue;
    }
    // The loader allocates before libc has an environment: these are not the program's calls, and it is too
    // early for lookups. Later, the program may have cleared its environment.
    static constinit bool has_libc_begun = false;
    if (environ == nullptr && !has_libc_begun) return false;
    has_libc_begun = true;
    if (!wiped.mode.compare_exchange_strong(mode, Mode::linking, std::memory_order_acquire)) continue;
    wiped.linking_thread.store(self, std::memory_order_relaxed);
    const int saved_errno = errno;
    raw_syscall(SYS_madvise, raw_argument(&wiped), sizeof wiped, 18 /* MADV_WIPEONFORK */);
    const Mode result = link();
    errno = saved_errno;
    wiped.linking_thread.store(0, std::memory_order_relaxed);
    wiped.mode.store(result, std::memory_order_release);
    return result == Mode::active;
  }
}

}  // namespace heapwright::platform
