// SPDX-License-Identifier: MIT
// Memory mapped by the program itself. Calls that the allocator makes inside a recorded call are nested and
// therefore not the program's.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdarg>

#include "platform/raw_syscall.hpp"
#include "record/observe.hpp"

namespace heapwright::record {
namespace {

using platform::raw_argument;
using platform::raw_syscall;

std::uint64_t number_of(const void* address) noexcept { return reinterpret_cast<std::uint64_t>(address); }

// Same as libc's wrapper; used until the real functions are known.
[[gnu::cold]] long with_errno(long result) noexcept {
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// Also nullptr before a program with its own allocator is linked, which our constructor will do: this may be
// a call by its allocator while it holds locks, and linking makes failing lookups, for which the loader
// allocates.
[[gnu::always_inline]] inline ThreadRecorder* enter_mapping(const void* frame) noexcept {
  if (real.malloc == nullptr && malloc_of_program() != nullptr) [[unlikely]] {
    return nullptr;
  }
  const ThreadRecorder* const thread = current_thread;
  if (thread != nullptr && thread->activity == Activity::real_call) [[unlikely]] {
    if (is_part_of_real_call(*thread, frame)) return nullptr;
  }
  return enter(frame);
}

// The C library caches the process's break, so its own function must move it. Every libc has both: the lookup
// succeeds, so it allocates nothing.
template <typename Function>
[[gnu::cold, gnu::noinline]] void find_early(Function*& function, const char* name) noexcept {
  if (environ != nullptr) function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

[[gnu::always_inline]] inline void* observe_mmap(const void* frame, void* hint, std::size_t bytes,
                                                 int protection, int flags, int file, off_t offset) noexcept {
  ThreadRecorder* thread = enter_mapping(frame);
  if (real.mmap == nullptr) [[unlikely]] {
    return reinterpret_cast<void*>(with_errno(raw_syscall(
        SYS_mmap, raw_argument(hint), static_cast<long>(bytes), protection, flags, file, offset)));
  }
  if (thread == nullptr) return real.mmap(hint, bytes, protection, flags, file, offset);
  const std::uint64_t begin_ticks = now_ticks();
  void* address = real.mmap(hint, bytes, protection, flags, file, offset);
  finish_other(*thread, frame,
               Call{.kind = EventKind::mmap_,
                    .size = bytes,
                    .usable = static_cast<std::uint64_t>(protection & 0xff) |
                              static_cast<std::uint64_t>(flags & 0xffffff) << 8U,
                    .address = address == MAP_FAILED ? 0 : number_of(address)},
               begin_ticks);
  return address;
}

// munmap, mprotect and madvise. `detail` is stored with the event.
template <EventKind kind, typename... Argument>
[[gnu::always_inline]] inline int observe_change(const void* frame,
                                                 int (*function)(void*, std::size_t, Argument...),
                                                 long number, void* address, std::size_t bytes,
                                                 Argument... detail) noexcept {
  ThreadRecorder* thread = enter_mapping(frame);
  if (function == nullptr) [[unlikely]] {
    return static_cast<int>(
        with_errno(raw_syscall(number, raw_argument(address), static_cast<long>(bytes), detail...)));
  }
  if (thread == nullptr) return function(address, bytes, detail...);
  const std::uint64_t begin_ticks = now_ticks();
  const int result = function(address, bytes, detail...);
  finish_other(*thread, frame,
               Call{.kind = kind,
                    .size = bytes,
                    .usable = (std::uint64_t{0} | ... | static_cast<std::uint64_t>(detail & 0xff)),
                    .address = result == 0 ? number_of(address) : 0},
               begin_ticks);
  return result;
}

}  // namespace

HEAPWRIGHT_HOOK void* mmap(void* hint, std::size_t bytes, int protection, int flags, int file,
                           off_t offset) noexcept {
  return observe_mmap(__builtin_frame_address(0), hint, bytes, protection, flags, file, offset);
}

HEAPWRIGHT_HOOK void* mmap64(void* hint, std::size_t bytes, int protection, int flags, int file,
                             off_t offset) noexcept {
  return observe_mmap(__builtin_frame_address(0), hint, bytes, protection, flags, file, offset);
}

HEAPWRIGHT_HOOK int munmap(void* address, std::size_t bytes) noexcept {
  return observe_change<EventKind::munmap_>(__builtin_frame_address(0), real.munmap, SYS_munmap, address,
                                            bytes);
}

HEAPWRIGHT_HOOK int mprotect(void* address, std::size_t bytes, int protection) noexcept {
  return observe_change<EventKind::mprotect_>(__builtin_frame_address(0), real.mprotect, SYS_mprotect,
                                              address, bytes, protection);
}

HEAPWRIGHT_HOOK int madvise(void* address, std::size_t bytes, int advice) noexcept {
  return observe_change<EventKind::madvise_>(__builtin_frame_address(0), real.madvise, SYS_madvise, address,
                                             bytes, advice);
}

HEAPWRIGHT_HOOK void* mremap(void* old_address, std::size_t old_bytes, std::size_t new_bytes, int flags,
                             ...) noexcept {
  const void* frame = __builtin_frame_address(0);
  std::va_list arguments;
  va_start(arguments, flags);
  // Read even if the caller did not pass it, as libc does.
  void* new_address = va_arg(arguments, void*);
  va_end(arguments);
  ThreadRecorder* thread = enter_mapping(frame);
  if (real.mremap == nullptr) [[unlikely]] {
    return reinterpret_cast<void*>(
        with_errno(raw_syscall(SYS_mremap, raw_argument(old_address), static_cast<long>(old_bytes),
                               static_cast<long>(new_bytes), flags, raw_argument(new_address))));
  }
  if (thread == nullptr) return real.mremap(old_address, old_bytes, new_bytes, flags, new_address);
  const std::uint64_t begin_ticks = now_ticks();
  void* address = real.mremap(old_address, old_bytes, new_bytes, flags, new_address);
  finish_other(*thread, frame,
               Call{.kind = EventKind::mremap_,
                    .size = new_bytes,
                    .usable = old_bytes,
                    .address = address == MAP_FAILED ? 0 : number_of(address),
                    .old_address = number_of(old_address)},
               begin_ticks);
  return address;
}

HEAPWRIGHT_HOOK int brk(void* address) noexcept {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter_mapping(frame);
  if (real.brk == nullptr) find_early(real.brk, "brk");
  if (real.brk == nullptr) [[unlikely]] {
    if (thread != nullptr) leave(*thread);
    errno = ENOMEM;
    return -1;
  }
  if (thread == nullptr) return real.brk(address);
  const std::uint64_t begin_ticks = now_ticks();
  const int result = real.brk(address);
  finish_other(*thread, frame, Call{.kind = EventKind::brk_, .address = result == 0 ? number_of(address) : 0},
               begin_ticks);
  return result;
}

HEAPWRIGHT_HOOK void* sbrk(std::intptr_t increment) noexcept {
  const void* frame = __builtin_frame_address(0);
  ThreadRecorder* thread = enter_mapping(frame);
  if (real.sbrk == nullptr) find_early(real.sbrk, "sbrk");
  if (real.sbrk == nullptr) [[unlikely]] {
    if (thread != nullptr) leave(*thread);
    errno = ENOMEM;
    return reinterpret_cast<void*>(-1);
  }
  if (thread == nullptr) return real.sbrk(increment);
  const std::uint64_t begin_ticks = now_ticks();
  void* before = real.sbrk(increment);
  const bool has_failed = before == reinterpret_cast<void*>(-1);
  finish_other(*thread, frame,
               Call{.kind = EventKind::sbrk_,
                    .size = static_cast<std::uint64_t>(increment),
                    .address = has_failed ? 0 : number_of(before) + static_cast<std::uint64_t>(increment)},
               begin_ticks);
  return before;
}

}  // namespace heapwright::record
