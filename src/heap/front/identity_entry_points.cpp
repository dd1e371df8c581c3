// SPDX-License-Identifier: MIT
// Interposed calls that change a process's credentials or restrictions. Each ends the
// maintenance thread first, then calls the C library's function: the thread would keep
// the old rights, escape the new restrictions, or make the kernel refuse. setfsuid()
// and setfsgid() affect only the calling thread, and the maintenance thread opens no
// file.
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "heap/base/own_thread.hpp"
#include "heap/base/rights.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

template <class Function, class... Arguments>
int call_next(const char* name, Arguments... arguments) noexcept {
  heapwright::heap::forbid_maintenance_thread();
  auto* next = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  if (next != nullptr) return next(arguments...);
  errno = ENOSYS;
  return -1;
}

}  // namespace

namespace heapwright::heap {
bool is_thread_ended_before_changes() noexcept { return true; }
}  // namespace heapwright::heap

EXPORT int unshare(int flags) noexcept { return call_next<int(int)>("unshare", flags); }
EXPORT int setns(int file, int kind) noexcept { return call_next<int(int, int)>("setns", file, kind); }
EXPORT int setuid(uid_t user) noexcept { return call_next<int(uid_t)>("setuid", user); }
EXPORT int seteuid(uid_t user) noexcept { return call_next<int(uid_t)>("seteuid", user); }
EXPORT int setreuid(uid_t real, uid_t effective) noexcept {
  return call_next<int(uid_t, uid_t)>("setreuid", real, effective);
}
EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  return call_next<int(uid_t, uid_t, uid_t)>("setresuid", real, effective, saved);
}
EXPORT int setgid(gid_t group) noexcept { return call_next<int(gid_t)>("setgid", group); }
EXPORT int setegid(gid_t group) noexcept { return call_next<int(gid_t)>("setegid", group); }
EXPORT int setregid(gid_t real, gid_t effective) noexcept {
  return call_next<int(gid_t, gid_t)>("setregid", real, effective);
}
EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  return call_next<int(gid_t, gid_t, gid_t)>("setresgid", real, effective, saved);
}
EXPORT int setgroups(size_t count, const gid_t* groups) noexcept {
  return call_next<int(size_t, const gid_t*)>("setgroups", count, groups);
}
// The C library's function calls its setgroups() internally.
EXPORT int initgroups(const char* user, gid_t group) {
  return call_next<int(const char*, gid_t)>("initgroups", user, group);
}
EXPORT int capset(cap_user_header_t header, const cap_user_data_t data) noexcept {
  return call_next<int(cap_user_header_t, cap_user_data_t)>("capset", header, data);
}

EXPORT int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  unsigned long given[4];
  for (unsigned long& argument : given) argument = va_arg(list, unsigned long);
  va_end(list);
  using Function = int(int, ...);
  if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) {
    return call_next<Function>("prctl", option, given[0], given[1], given[2], given[3]);
  }
  static constinit Function* next = nullptr;
  Function* found = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (found == nullptr) {
    found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "prctl"));
    __atomic_store_n(&next, found, __ATOMIC_RELAXED);
  }
  return found(option, given[0], given[1], given[2], given[3]);
}
