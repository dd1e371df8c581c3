// SPDX-License-Identifier: MIT
// For cmake/older_system.cmake: what our programs and the C++ library in them use of glibc after 2.17. Each
// program has its own, so a later C library's are not called.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc 2.29 gave them a second version, which does not report errors in errno's older way.
double exp_of_2_2_5(double x);
double exp2_of_2_2_5(double x);
__asm__(".symver exp_of_2_2_5, exp@GLIBC_2.2.5");
__asm__(".symver exp2_of_2_2_5, exp2@GLIBC_2.2.5");

#pragma GCC visibility push(hidden)

double exp(double x) { return exp_of_2_2_5(x); }
double exp2(double x) { return exp2_of_2_2_5(x); }

// 2.32. Never true: the C++ library then counts references atomically.
char __libc_single_threaded = 0;

// 2.25 and 2.27: Linux has had both calls since 3.17.
ssize_t getrandom(void* to, size_t size, unsigned flags) { return syscall(SYS_getrandom, to, size, flags); }
int memfd_create(const char* name, unsigned flags) { return (int)syscall(SYS_memfd_create, name, flags); }

// 2.36. std::random_device's, if it is asked for.
uint32_t arc4random(void) {
  uint32_t drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) abort();
  return drawn;
}

// 2.26.
void* reallocarray(void* block, size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(block, bytes);
}

// 2.18. Before, what a thread keeps is not destroyed at its end.
int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* module) {
  int (*registered)(void (*)(void*), void*, void*) = NULL;
  *(void**)&registered = dlsym(RTLD_DEFAULT, "__cxa_thread_atexit_impl");
  return registered != NULL ? registered(destroy, object, module) : 0;
}
