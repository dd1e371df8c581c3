// SPDX-License-Identifier: MIT
// libheapwright-attachable.so, preloaded: other processes of the same user may attach to this one and to its
// children, where kernel.yama.ptrace_scope is 1 and they may not otherwise. It stands in front of no
// function, so a call of the heap takes what it took.
#include <sys/auxv.h>
#include <sys/prctl.h>

#include <cerrno>

// What glibc's pthread_atfork() calls. Weak: musl has none, and a program there shall run all the same.
// Nothing attaches to it.
extern "C" [[gnu::weak]] int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                               void* object);
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace {

// Of this process alone: the kernel gives neither a child nor an executed program what it was given. Where
// Yama is not in the kernel the answer is EINVAL, and nothing was forbidden.
void allow() {
  const int before = errno;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  errno = before;
}

[[gnu::constructor]] void at_load() {
  if (getauxval(AT_SECURE) != 0) {
    return;  // it has more rights than who started it
  }
  allow();
  if (__register_atfork != nullptr) __register_atfork(nullptr, nullptr, allow, __dso_handle);
}

}  // namespace
