// SPDX-License-Identifier: MIT
// libheapwright-attachable.so, preloaded: lets other processes of the same user attach to this one and its
// children, which kernel.yama.ptrace_scope=1 otherwise forbids. It overrides no function, so heap calls cost
// the same as before.
#include <sys/auxv.h>
#include <sys/prctl.h>

#include <cerrno>

// Called by glibc's pthread_atfork(). Weak: musl lacks it, and a program there must still run. Nothing
// attaches to such a program.
extern "C" [[gnu::weak]] int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                               void* object);
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace {

// For this process only: the kernel passes the permission neither to children nor to executed programs. If
// the kernel has no Yama the result is EINVAL, and nothing was forbidden.
void allow() {
  const int before = errno;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  errno = before;
}

[[gnu::constructor]] void at_load() {
  if (getauxval(AT_SECURE) != 0) {
    return;  // it has more rights than its caller
  }
  allow();
  if (__register_atfork != nullptr) __register_atfork(nullptr, nullptr, allow, __dso_handle);
}

}  // namespace
