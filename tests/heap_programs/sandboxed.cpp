// SPDX-License-Identifier: MIT
// A filter like that of a privilege-separated server: it kills the process at a
// system call that the C library's malloc does not make. The heap grows, shrinks,
// moves blocks and gives memory back behind it, on several threads and none.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
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
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{sizeof(code) / sizeof(*code), code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

constexpr std::size_t slots = 40'000;
unsigned char* blocks[slots];

std::size_t size_of(std::size_t index) {
  if (index % 2000 == 1) return 5'000'000 + index;
  return index % 100 == 0 ? 70'000 + index : 1 + index * 37 % 9000;
}

void run_round() {
  for (std::size_t i = 0; i < slots; ++i) {
    blocks[i] =
        static_cast<unsigned char*>(i % 3 == 0 ? std::calloc(1, size_of(i)) : std::malloc(size_of(i)));
    REQUIRE(blocks[i] != nullptr);
    blocks[i][0] = static_cast<unsigned char>(i);
  }
  for (std::size_t i = 0; i < slots; i += 7) {
    blocks[i] = static_cast<unsigned char*>(std::realloc(blocks[i], size_of(i) * 2));
    REQUIRE(blocks[i] != nullptr && blocks[i][0] == static_cast<unsigned char>(i));
  }
  for (std::size_t i = 0; i < slots; ++i) {
    if (i % 64 != 0) std::free(blocks[i]);
  }
  malloc_trim(0);
  for (std::size_t i = 0; i < slots; i += 64) std::free(blocks[i]);
}

}  // namespace

int main() {
  std::free(keep(std::malloc(1)));
  forbid_other_calls();
  for (int round = 0; round < 3; ++round) run_round();
  say("done\n");
  return 0;
}
