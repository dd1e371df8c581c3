// SPDX-License-Identifier: MIT
#include "replay/system_calls.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include <string>

#include "figures/process_figures.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::replay {
namespace {

// From linux/prctl.h, which may be too old.
constexpr int set_dispatch = 59;
constexpr unsigned long dispatch_on = 1;
constexpr char passes = 0;
constexpr char is_handed_over = 1;

// The return from a handler is a system call too and must pass: mov and syscall, at the restorer.
constexpr unsigned long restorer_bytes = 16;

// The kernel's struct sigaction.
struct Action {
  void (*handler)(int, siginfo_t*, void*) = nullptr;
  unsigned long flags = 0;
  std::uintptr_t restorer = 0;
  std::uint64_t mask = 0;
};

thread_local SystemCalls::OfLane* own = nullptr;

#if defined(__x86_64__)
std::size_t kind_of(long number) noexcept {
  switch (number) {
    case SYS_mmap:
      return 0;
    case SYS_munmap:
      return 1;
    case SYS_mremap:
      return 2;
    case SYS_madvise:
      return 3;
    case SYS_mprotect:
      return 4;
    case SYS_brk:
      return 5;
    case SYS_futex:
      return 6;
    default:
      return SystemCalls::kinds.size() - 1;
  }
}

// A handler cannot make these for the interrupted code: they use the caller's stack, or change signal
// handling.
bool needs_the_caller(long number) noexcept {
  return number == SYS_clone || number == SYS_clone3 || number == SYS_fork || number == SYS_vfork ||
         number == SYS_rt_sigprocmask || number == SYS_rt_sigreturn || number == SYS_rt_sigaction ||
         number == SYS_sigaltstack;
}

void make_the_call(int, siginfo_t*, void* context) {
  constexpr long syscall_instruction_bytes = 2;
  own->selector = passes;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const long number = registers[REG_RAX];
  auto& sum = own->sums[kind_of(number)];
  ++sum.calls;
  if (needs_the_caller(number)) {
    registers[REG_RIP] -= syscall_instruction_bytes;  // later system calls of this heap call are not seen
    return;
  }
  const auto begin_ns = figures::now_ns();
  registers[REG_RAX] =
      platform::raw_syscall(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                            registers[REG_R10], registers[REG_R8], registers[REG_R9]);
  sum.ns += figures::now_ns() - begin_ns;
  own->selector = is_handed_over;
}
#endif

}  // namespace

SystemCalls::SystemCalls(std::size_t lanes) : lanes_(lanes) {
#if defined(__SANITIZE_THREAD__)
  return;                  // ThreadSanitizer's own calls would be redirected, to a handler that it delays
#elif defined(__x86_64__)  // other kernels do not redirect system calls
  struct sigaction action {};
  action.sa_sigaction = make_the_call;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return;
  Action known;
  if (platform::raw_syscall(SYS_rt_sigaction, SIGSYS, 0, platform::raw_argument(&known),
                            sizeof(known.mask)) != 0) {
    return;
  }
  restorer_ = known.restorer;
  is_known_ = restorer_ != 0;
#endif
}

SystemCalls::~SystemCalls() {
  if (own == nullptr) return;
  prctl(set_dispatch, 0UL, 0UL, 0UL, 0UL);
  own = nullptr;
}

void SystemCalls::enter(std::uint32_t lane) noexcept {
  own = &lanes_[lane];
  if (!is_known_) return;
  if (prctl(set_dispatch, dispatch_on, restorer_, restorer_bytes, &own->selector) != 0) is_known_ = false;
}

void SystemCalls::begin() noexcept { own->selector = is_handed_over; }

void SystemCalls::end() noexcept { own->selector = passes; }

void SystemCalls::reset() noexcept {
  for (OfLane& lane : lanes_) lane.sums = {};
}

void SystemCalls::report(figures::Report& report) const {
  if (!is_known_) return;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    Sum all;
    for (const OfLane& lane : lanes_.first(lanes_.size())) {
      all.calls += lane.sums[kind].calls;
      all.ns += lane.sums[kind].ns;
    }
    const std::string name(kinds[kind]);
    report.figure(name + "_calls", static_cast<double>(all.calls));
    report.figure(name + "_ns", static_cast<double>(all.ns));
  }
}

}  // namespace heapwright::replay
