// SPDX-License-Identifier: MIT
#include "collect/held_program.hpp"

#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>

#include "collect/loader_places.hpp"
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

std::uint64_t auxiliary_value(pid_t process, std::uint64_t type) {
  std::ifstream file("/proc/" + std::to_string(process) + "/auxv", std::ios::binary);
  std::uint64_t entry[2];
  while (file.read(reinterpret_cast<char*>(entry), sizeof entry) && entry[0] != AT_NULL) {
    if (entry[0] == type) return entry[1];
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
    run_to_place();
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

HeldProgram::Place HeldProgram::look_at(std::uint64_t address) const {
  errno = 0;
  const long code = address == 0 ? 0 : ptrace(PTRACE_PEEKTEXT, process_, address, nullptr);
  return errno == 0 ? Place{address, code} : Place{};
}

bool HeldProgram::put(std::uint64_t address, long code) const {
  return ptrace(PTRACE_POKETEXT, process_, address, code) == 0;
}

// The one that it has reached; nullptr: it has ended. Signals that come meanwhile are delivered.
const HeldProgram::Place* HeldProgram::run_to_breakpoint(const Place& first, const Place& second) {
  for (int signal_number = 0;;) {
    if (ptrace(PTRACE_CONT, process_, nullptr, static_cast<long>(signal_number)) != 0) return nullptr;
    if (!wait_for_stop(process_, signal_number)) return nullptr;
    user_regs_struct registers{};
    const bool is_known = ptrace(PTRACE_GETREGS, process_, nullptr, &registers) == 0;
    if (signal_number != SIGTRAP || !is_known) continue;
    const std::uint64_t address = registers.rip - 1;
    if (address != first.address && address != second.address) continue;
    registers.rip = address;
    if (ptrace(PTRACE_SETREGS, process_, nullptr, &registers) != 0) return nullptr;
    return address == first.address ? &first : &second;
  }
}

// The breakpoint stays. A signal that comes is delivered first; its handler, if there was one yet, would
// return here.
bool HeldProgram::step_over(const Place& place) const {
  int signal_number = 0;
  if (!put(place.address, place.original)) return false;
  do {
    const long pending = signal_number == SIGTRAP ? 0 : signal_number;
    if (ptrace(PTRACE_SINGLESTEP, process_, nullptr, pending) != 0) return false;
    if (!wait_for_stop(process_, signal_number)) return false;
  } while (signal_number != SIGTRAP);
  return put(place.address, with_byte(place.original, int3));
}

void HeldProgram::run_to_place() {
  int signal_number = 0;
  if (!wait_for_stop(process_, signal_number) || signal_number != SIGTRAP) {
    throw NotAttached("the program cannot be stopped at its start: tracing is forbidden here; see --pid");
  }
  // If we end while it is held, so does it.
  ptrace(PTRACE_SETOPTIONS, process_, nullptr, static_cast<long>(PTRACE_O_EXITKILL));
  const Place entry = look_at(auxiliary_value(process_, AT_ENTRY));
  if (entry.address == 0 || !put(entry.address, with_byte(entry.original, int3))) {
    throw NotAttached("the program's code cannot be written to, so it cannot be stopped at its start");
  }
  const LoaderPlaces loader = find_loader_places(process_, auxiliary_value(process_, AT_BASE));
  const Place told = look_at(loader.debugger_call);
  if (told.address != 0) put(told.address, with_byte(told.original, int3));
  // The loader calls this before it maps libraries and after it has bound them.
  bool is_loading = false;
  const Place* reached = nullptr;
  for (;;) {
    reached = run_to_breakpoint(entry, told);
    if (reached == nullptr) throw NotAttached("the program ended before its first instruction");
    if (reached == &entry) break;
    const long state = ptrace(PTRACE_PEEKDATA, process_, loader.state, nullptr) & 0xffffffffL;
    if (is_loading && state == r_debug::RT_CONSISTENT) break;
    is_loading = is_loading || state == r_debug::RT_ADD;
    if (!step_over(told)) throw NotAttached("the program ended before its first instruction");
  }
  is_before_constructors_ = reached == &told;
  held_at_ = *reached;
  const Place& other = is_before_constructors_ ? entry : told;
  if (other.address != 0) put(other.address, other.original);
  put(held_at_.address, with_two_bytes(held_at_.original, jump_to_itself));
  ptrace(PTRACE_DETACH, process_, nullptr, nullptr);
}

// A processor must not find one old and one new byte, so it stands still meanwhile.
void HeldProgram::let_go() {
  is_held_ = false;
  tracee::SeizedThreads thread(process_);
  const auto outcome = thread.stop(patience);
  if (outcome == tracee::SeizedThreads::Outcome::ended) return;
  if (outcome != tracee::SeizedThreads::Outcome::stopped || !put(held_at_.address, held_at_.original)) {
    is_held_ = true;
    throw UsageError("the program could not be let go: " + thread.why_not(outcome) + "; it was ended");
  }
}

}  // namespace heapwright::collect
