// SPDX-License-Identifier: MIT
#include "collect/held_program.hpp"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>

#include "collect/options.hpp"
#include "tracee/seized_threads.hpp"

namespace heapwright::collect {
namespace {

constexpr long int3 = 0xcc;
constexpr long jump_to_itself = 0xfeeb;  // eb fe
constexpr std::chrono::milliseconds patience{10'000};

// The first bytes of the code at the entry replaced.
constexpr long with_byte(long code, long byte) { return (code & ~0xffL) | byte; }
constexpr long with_two_bytes(long code, long bytes) { return (code & ~0xffffL) | bytes; }

std::uint64_t entry_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/auxv", std::ios::binary);
  std::uint64_t entry[2];
  while (file.read(reinterpret_cast<char*>(entry), sizeof entry) && entry[0] != AT_NULL) {
    if (entry[0] == AT_ENTRY) return entry[1];
  }
  return 0;
}

// False: it has ended.
bool wait_for_stop(pid_t process, int& signal_number) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  signal_number = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
  return WIFSTOPPED(status);
}

}  // namespace

HeldProgram::HeldProgram(pid_t process) : process_(process) {
  try {
    run_to_entry();
  } catch (...) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    throw;
  }
}

HeldProgram::~HeldProgram() {
  if (!is_held_) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

long HeldProgram::code_at_entry() const { return ptrace(PTRACE_PEEKTEXT, process_, entry_, nullptr); }

bool HeldProgram::put(long code) const { return ptrace(PTRACE_POKETEXT, process_, entry_, code) == 0; }

// False: it has ended. Signals that come meanwhile are delivered.
bool HeldProgram::run_to_breakpoint() {
  for (int signal_number = 0;;) {
    if (ptrace(PTRACE_CONT, process_, nullptr, static_cast<long>(signal_number)) != 0) return false;
    if (!wait_for_stop(process_, signal_number)) return false;
    user_regs_struct registers{};
    const bool is_known = ptrace(PTRACE_GETREGS, process_, nullptr, &registers) == 0;
    if (signal_number != SIGTRAP || !is_known || registers.rip != entry_ + 1) continue;
    registers.rip = entry_;
    return ptrace(PTRACE_SETREGS, process_, nullptr, &registers) == 0;
  }
}

void HeldProgram::run_to_entry() {
  int signal_number = 0;
  if (!wait_for_stop(process_, signal_number) || signal_number != SIGTRAP) {
    throw NotAttached("the program cannot be stopped at its start: tracing is forbidden here; see --pid");
  }
  // If we end while it is held, so does it.
  ptrace(PTRACE_SETOPTIONS, process_, nullptr, static_cast<long>(PTRACE_O_EXITKILL));
  entry_ = entry_of(process_);
  errno = 0;
  original_ = code_at_entry();
  if (entry_ == 0 || errno != 0 || !put(with_byte(original_, int3))) {
    throw NotAttached("the program's code cannot be written to, so it cannot be stopped at its start");
  }
  if (!run_to_breakpoint()) throw NotAttached("the program ended before its first instruction");
  put(with_two_bytes(original_, jump_to_itself));
  ptrace(PTRACE_DETACH, process_, nullptr, nullptr);
}

// A processor must not find one old and one new byte, so it stands still meanwhile.
void HeldProgram::let_go() {
  is_held_ = false;
  tracee::SeizedThreads thread(process_);
  const auto outcome = thread.stop(patience);
  if (outcome == tracee::SeizedThreads::Outcome::ended) return;
  if (outcome != tracee::SeizedThreads::Outcome::stopped || !put(original_)) {
    is_held_ = true;
    throw UsageError("the program could not be let go: " + thread.why_not(outcome) + "; it was ended");
  }
}

}  // namespace heapwright::collect
