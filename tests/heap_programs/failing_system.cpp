// SPDX-License-Identifier: MIT
// Every k-th mmap, mremap and mprotect of this process fails with ENOMEM, for
// many k: a call returns null or a good block, never anything else, and the
// heap stays whole. A seccomp filter traps the calls; the handler carries out
// those that may succeed.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <cstdint>

#include "public_names.hpp"

// One syscall instruction at a known place: the filter lets it pass.
asm(R"(
.text
.globl permitted_syscall
.globl permitted_end
permitted_syscall:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
permitted_end:
  ret
)");
extern "C" long permitted_syscall(long number, long, long, long, long, long, long);
extern "C" char permitted_end[];

namespace {

volatile long calls = 0;
volatile long failures = 0;
volatile long fail_every = 0;

void on_trap(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  calls = calls + 1;
  if (fail_every != 0 && calls % fail_every == 0) {
    failures = failures + 1;
    registers[REG_RAX] = -ENOMEM;
    return;
  }
  registers[REG_RAX] =
      permitted_syscall(registers[REG_RAX], registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                        registers[REG_R10], registers[REG_R8], registers[REG_R9]);
}

void trap_page_requests() {
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  REQUIRE(sigaction(SIGSYS, &action, nullptr) == 0);
  const auto end = reinterpret_cast<std::uintptr_t>(permitted_end);
  constexpr unsigned place = offsetof(seccomp_data, instruction_pointer);
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(end), 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(end >> 32), 4, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  const sock_fprog program{sizeof(code) / sizeof(*code), code};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

struct Held {
  unsigned char* memory;
  std::size_t bytes;
};
constexpr std::size_t slots = 4000;
Held held[slots];

std::uint32_t random_state = 1;
std::uint32_t draw() {
  random_state = random_state * 1664525 + 1013904223;
  return random_state >> 8;
}

std::size_t draw_size() {
  const std::uint32_t kind = draw() % 100;
  if (kind < 60) return draw() % 2000;
  if (kind < 90) return draw() % 60000;
  return draw() % 3'000'000;
}

void write(Held& slot) {
  if (slot.bytes == 0) return;
  slot.memory[0] = static_cast<unsigned char>(slot.bytes);
  slot.memory[slot.bytes - 1] = static_cast<unsigned char>(slot.bytes);
}

void require_written(const Held& slot) {
  if (slot.bytes == 0) return;
  REQUIRE(slot.memory[slot.bytes - 1] == static_cast<unsigned char>(slot.bytes));
  REQUIRE(slot.bytes == 1 || slot.memory[0] == static_cast<unsigned char>(slot.bytes));
}

void step(Held& slot) {
  if (slot.memory == nullptr) {
    const std::size_t bytes = draw_size();
    void* memory = draw() % 4 == 0 ? std::calloc(1, bytes) : std::malloc(bytes);
    if (memory == nullptr) {
      REQUIRE(errno == ENOMEM);
      return;
    }
    slot = {static_cast<unsigned char*>(memory), bytes};
  } else if (draw() % 3 == 0) {
    require_written(slot);
    const std::size_t bytes = 1 + draw_size();
    void* moved = std::realloc(slot.memory, bytes);
    if (moved == nullptr) return require_written(slot);
    if (slot.bytes > 1)
      REQUIRE(*static_cast<unsigned char*>(moved) == static_cast<unsigned char>(slot.bytes));
    slot = {static_cast<unsigned char*>(moved), bytes};
  } else {
    require_written(slot);
    std::free(slot.memory);
    slot = {};
  }
  write(slot);
}

void run(long every, int steps) {
  fail_every = every;
  for (int i = 0; i < steps; ++i) {
    errno = 0;
    step(held[draw() % slots]);
  }
  fail_every = 0;
  for (Held& slot : held) {
    if (slot.memory != nullptr) require_written(slot);
    std::free(slot.memory);
    slot = {};
  }
  require_valid();
}

}  // namespace

int main() {
  trap_page_requests();
  for (const long every : {1, 2, 3, 5, 7, 11, 17, 40}) run(every, 30000);
  say("done\nnote failures %ld of %ld\n", failures, calls);
  // Without a single failure this has shown nothing.
  REQUIRE(failures > 10);
  return 0;
}
