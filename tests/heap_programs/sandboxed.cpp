// SPDX-License-Identifier: MIT
// A filter like that of a privilege-separated server: it kills the process at a
// system call that the C library's malloc does not make. The heap grows, shrinks,
// moves blocks and gives memory back behind it, on several threads, each of which
// calls the heap for the first time there and frees what another one made.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "public_names.hpp"

namespace {

#define PERMIT(name) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

void forbid_other_calls() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      PERMIT(mmap),
      PERMIT(munmap),
      PERMIT(mremap),
      PERMIT(madvise),
      PERMIT(mprotect),
      PERMIT(brk),
      PERMIT(futex),
      PERMIT(write),
      PERMIT(exit),
      PERMIT(exit_group),
      // The C library reads a setting when a thread's arena shrinks, and does without it.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{sizeof(code) / sizeof(*code), code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

constexpr std::size_t thread_count = 4;
constexpr std::size_t slots = 20'000;
using Blocks = unsigned char* [slots];
Blocks blocks[thread_count];
pthread_barrier_t all_are_here;

std::size_t size_of(std::size_t index) {
  if (index % 2000 == 1) return 5'000'000 + index;
  return index % 100 == 0 ? 70'000 + index : 1 + index * 37 % 9000;
}

void make(Blocks& made) {
  for (std::size_t i = 0; i < slots; ++i) {
    made[i] = static_cast<unsigned char*>(i % 3 == 0 ? std::calloc(1, size_of(i)) : std::malloc(size_of(i)));
    REQUIRE(made[i] != nullptr);
    made[i][0] = static_cast<unsigned char>(i);
  }
  for (std::size_t i = 0; i < slots; i += 7) {
    made[i] = static_cast<unsigned char*>(std::realloc(made[i], size_of(i) * 2));
    REQUIRE(made[i] != nullptr && made[i][0] == static_cast<unsigned char>(i));
  }
}

void release(Blocks& made) {
  for (std::size_t i = 0; i < slots; ++i) {
    if (i % 64 != 0) std::free(made[i]);
  }
  malloc_trim(0);
  for (std::size_t i = 0; i < slots; i += 64) std::free(made[i]);
}

void run(std::size_t number) {
  forbid_other_calls();
  for (std::size_t round = 0; round < 3; ++round) {
    make(blocks[number]);
    pthread_barrier_wait(&all_are_here);
    release(blocks[(number + round) % thread_count]);
    pthread_barrier_wait(&all_are_here);
  }
}

void* call_heap_once(void*) {
  std::free(keep(std::malloc(1)));
  return nullptr;
}

// Whose end would ask for more than the heap does: they stay until the process ends.
void* run_and_stay(void* number) {
  run(reinterpret_cast<std::size_t>(number));
  pthread_barrier_t never;
  pthread_barrier_init(&never, nullptr, 2);
  pthread_barrier_wait(&never);
  return nullptr;
}

}  // namespace

int main() {
  call_heap_once(nullptr);
  pthread_barrier_init(&all_are_here, nullptr, thread_count);
  // The C library counts the processors at a second thread's first call.
  pthread_t thread{};
  REQUIRE(pthread_create(&thread, nullptr, call_heap_once, nullptr) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  for (std::size_t i = 1; i < thread_count; ++i) {
    REQUIRE(pthread_create(&thread, nullptr, run_and_stay, reinterpret_cast<void*>(i)) == 0);
  }
  run(0);
  say("done\n");
  return 0;
}
