// SPDX-License-Identifier: MIT
#include "attach/stopped_threads.hpp"

#include <sys/ptrace.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "attach/refusal.hpp"
#include "tracee/process_status.hpp"

// Since Linux 5.13.
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION static_cast<__ptrace_request>(0x420f)
#endif

namespace heapwright::attach {
namespace {

constexpr long strict = LONG_MAX;  // it allows none of the calls that are made for us

// A restartable sequence would neither be restarted nor continue correctly if we changed the program counter
// within it. A thread in a system call is not in one.
bool may_be_in_sequence(const StoppedThread& thread) {
  if (static_cast<std::int64_t>(thread.registers.orig_rax) >= 0) return false;
  struct Configuration {
    std::uint64_t address;
    std::uint32_t bytes;
    std::uint32_t signature;
    std::uint32_t flags;
    std::uint32_t padding;
  } configuration{};
  const long size =
      ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread.seized->id, sizeof configuration, &configuration);
  if (size < static_cast<long>(sizeof configuration) || configuration.address == 0) return false;
  constexpr std::uint64_t place_of_section = 8;  // in struct rseq
  errno = 0;
  const long section =
      ptrace(PTRACE_PEEKDATA, thread.seized->id, configuration.address + place_of_section, nullptr);
  return errno != 0 || section != 0;
}

}  // namespace

bool StoppedThreads::stop(std::chrono::milliseconds patience) {
  using Outcome = tracee::SeizedThreads::Outcome;
  const Outcome outcome = seized_.stop(patience);
  if (outcome == Outcome::late) throw NotStopped(seized_.why_not(outcome));
  if (outcome == Outcome::forbidden) throw Refusal(seized_.why_not(outcome));
  for (auto& [id, seized] : seized_.threads()) {
    StoppedThread thread{&seized, {}};
    if (ptrace(PTRACE_GETREGS, id, nullptr, &thread.registers) == 0) threads_[id] = thread;
  }
  if (threads_.empty()) resume();
  return !threads_.empty();
}

void StoppedThreads::resume() noexcept {
  threads_.clear();
  seized_.resume();
}

StoppedThread* StoppedThreads::caller() {
  StoppedThread* found = nullptr;
  StoppedThread* filtered = nullptr;
  for (auto& [id, thread] : threads_) {
    if (thread.seized->signal != 0 || may_be_in_sequence(thread)) continue;
    const bool is_in_call = static_cast<std::int64_t>(thread.registers.orig_rax) >= 0;
    if (!is_in_call && found != nullptr) continue;
    const long filters = filters_of(id);
    if (filters > filters_before_ || filters == strict) continue;
    if (filters != 0) {
      filtered = &thread;
    } else {
      found = &thread;
      if (is_in_call) break;
    }
  }
  return found != nullptr ? found : filtered;
}

StoppedThreads::StoppedThreads(pid_t process) : process_(process), seized_(process) {
  for (const pid_t thread : tracee::threads_of(process)) {
    const long filters = filters_of(thread);
    if (filters != strict) filters_before_ = std::max(filters_before_, filters);
  }
}

bool StoppedThreads::has_new_filter() const {
  return filters_of(tracee::with_memory(process_)) > filters_before_;
}

// More with each filter that it gets, as far as the kernel counts them (Linux 5.9); 0: none.
long StoppedThreads::filters_of(pid_t thread) const {
  auto status = tracee::read_status(process_, thread);
  const long mode = tracee::number_in(status["Seccomp"]);
  return mode == tracee::seccomp_strict ? strict : mode + tracee::number_in(status["Seccomp_filters"]);
}

}  // namespace heapwright::attach
