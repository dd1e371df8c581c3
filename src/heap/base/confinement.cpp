// SPDX-License-Identifier: MIT
#include "heap/base/confinement.hpp"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstdint>

#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

namespace {

#if defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#endif

constexpr sock_filter load(std::size_t at) noexcept {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at));
}
// The lower half, which has all bits that count here: both architectures are little-endian.
constexpr sock_filter load_argument(std::size_t index) noexcept {
  return load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
}
// Skips so many instructions if the word differs.
constexpr sock_filter skip_unless(std::uint32_t value, std::uint8_t skipped) noexcept {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped);
}
constexpr sock_filter skip_if_any(std::uint32_t bits, std::uint8_t skipped) noexcept {
  return BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, skipped, 0);
}
constexpr sock_filter skip_unless_any(std::uint32_t bits, std::uint8_t skipped) noexcept {
  return BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, skipped);
}
constexpr sock_filter permit = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
constexpr sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
constexpr std::uint32_t beyond_reading_and_writing = ~std::uint32_t{PROT_READ | PROT_WRITE};

bool set_filter(std::uint32_t process) noexcept {
  const sock_filter code[] = {
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0),
      refuse,
      load(offsetof(seccomp_data, nr)),
      skip_unless(SYS_futex, 1),
      permit,
      skip_unless(SYS_clock_gettime, 1),
      permit,
      skip_unless(SYS_munmap, 1),
      permit,
      skip_unless(SYS_getpid, 1),
      permit,
      skip_unless(SYS_exit, 1),
      permit,
      skip_unless(SYS_exit_group, 1),
      permit,
      // Pages are only dropped, and none becomes executable or shows a file.
      skip_unless(SYS_madvise, 4),
      load_argument(2),
      skip_unless(MADV_DONTNEED, 1),
      permit,
      refuse,
      skip_unless(SYS_mprotect, 4),
      load_argument(2),
      skip_if_any(beyond_reading_and_writing, 1),
      permit,
      refuse,
      skip_unless(SYS_mmap, 6),
      load_argument(2),
      skip_if_any(beyond_reading_and_writing, 3),
      load_argument(3),
      skip_unless_any(MAP_ANONYMOUS, 1),
      permit,
      refuse,
      // The line on stderr about a misuse, and the process's end.
      skip_unless(SYS_write, 4),
      load_argument(0),
      skip_unless(2, 1),
      permit,
      refuse,
      skip_unless(SYS_kill, 6),
      load_argument(0),
      skip_unless(process, 3),
      load_argument(1),
      skip_unless(SIGABRT, 1),
      permit,
      refuse,
      refuse,
  };
  const sock_fprog program{sizeof(code) / sizeof(*code), const_cast<sock_filter*>(code)};
  return platform::raw_syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                               platform::raw_argument(&program)) == 0;
}

}  // namespace

bool confine_thread() noexcept {
  const auto process = static_cast<std::uint32_t>(platform::raw_syscall(SYS_getpid));
  return platform::raw_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1) == 0 && set_filter(process);
}

}  // namespace heapwright::heap
