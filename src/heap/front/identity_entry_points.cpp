// SPDX-License-Identifier: MIT
// Interposed calls that change a process's credentials or restrictions. Each ends the maintenance thread
// first, then calls the C library's function. After a change of credentials the thread comes back, with the
// new ones. After namespaces and filters it does not: it would make the kernel refuse the next one, or be
// killed. setfsuid() and setfsgid() affect only the calling thread, and the maintenance thread opens no file.
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "heap/base/own_thread.hpp"
#include "heap/base/rights.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

template <class Function>
Function* find_next(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <class Function, class... Arguments>
int call_next(const char* name, Arguments... arguments) noexcept {
  auto* next = find_next<Function>(name);
  if (next != nullptr) return next(arguments...);
  errno = ENOSYS;
  return -1;
}

template <class Function, class... Arguments>
int change_for_good(const char* name, Arguments... arguments) noexcept {
  heapwright::heap::forbid_maintenance_thread();
  return call_next<Function>(name, arguments...);
}

template <class Function, class... Arguments>
int change(const char* name, Arguments... arguments) noexcept {
  heapwright::heap::begin_change();
  const int result = call_next<Function>(name, arguments...);
  const int error = errno;
  heapwright::heap::end_change();
  errno = error;
  return result;
}

}  // namespace

namespace heapwright::heap {
bool is_thread_ended_before_changes() noexcept { return true; }
}  // namespace heapwright::heap

EXPORT int unshare(int flags) noexcept { return change_for_good<int(int)>("unshare", flags); }
EXPORT int setns(int file, int kind) noexcept { return change_for_good<int(int, int)>("setns", file, kind); }
EXPORT int setuid(uid_t user) noexcept { return change<int(uid_t)>("setuid", user); }
EXPORT int seteuid(uid_t user) noexcept { return change<int(uid_t)>("seteuid", user); }
EXPORT int setreuid(uid_t real, uid_t effective) noexcept {
  return change<int(uid_t, uid_t)>("setreuid", real, effective);
}
EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  return change<int(uid_t, uid_t, uid_t)>("setresuid", real, effective, saved);
}
EXPORT int setgid(gid_t group) noexcept { return change<int(gid_t)>("setgid", group); }
EXPORT int setegid(gid_t group) noexcept { return change<int(gid_t)>("setegid", group); }
EXPORT int setregid(gid_t real, gid_t effective) noexcept {
  return change<int(gid_t, gid_t)>("setregid", real, effective);
}
EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  return change<int(gid_t, gid_t, gid_t)>("setresgid", real, effective, saved);
}
EXPORT int setgroups(size_t count, const gid_t* groups) noexcept {
  return change<int(size_t, const gid_t*)>("setgroups", count, groups);
}
// The C library's function calls its setgroups() internally.
EXPORT int initgroups(const char* user, gid_t group) {
  return change<int(const char*, gid_t)>("initgroups", user, group);
}
EXPORT int capset(cap_user_header_t header, const cap_user_data_t data) noexcept {
  return change<int(cap_user_header_t, cap_user_data_t)>("capset", header, data);
}

EXPORT int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  unsigned long given[4];
  for (unsigned long& argument : given) argument = va_arg(list, unsigned long);
  va_end(list);
  using Function = int(int, ...);
  if (option == PR_SET_SECCOMP) {
    return change_for_good<Function>("prctl", option, given[0], given[1], given[2], given[3]);
  }
  if (option == PR_SET_NO_NEW_PRIVS) {
    return change<Function>("prctl", option, given[0], given[1], given[2], given[3]);
  }
  static constinit std::atomic<Function*> next{nullptr};
  if (next.load(std::memory_order_relaxed) == nullptr) next = find_next<Function>("prctl");
  return next.load(std::memory_order_relaxed)(option, given[0], given[1], given[2], given[3]);
}

// The C library has no functions for filters, and programs call others by number, too. Of those, only what
// the kernel would refuse or what kills the thread: by number, other changes concern the calling thread
// alone. Ends in a jump, because some calls return twice.
using SystemCall = long(long, long, long, long, long, long, long);
EXPORT SystemCall system_call asm("syscall");
EXPORT long system_call(long number, long a, long b, long c, long d, long e, long f) {
  const bool is_restriction = number == SYS_seccomp || number == SYS_unshare || number == SYS_setns ||
                              (number == SYS_prctl && a == PR_SET_SECCOMP);
  if (is_restriction) [[unlikely]] {
    heapwright::heap::forbid_maintenance_thread();
  }
  static constinit std::atomic<SystemCall*> next{nullptr};
  if (next.load(std::memory_order_relaxed) == nullptr) next = find_next<SystemCall>("syscall");
  return next.load(std::memory_order_relaxed)(number, a, b, c, d, e, f);
}
