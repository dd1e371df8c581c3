// SPDX-License-Identifier: MIT
#include "tracee/stopped_process.hpp"

#include <dirent.h>
#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

namespace heapwright::tracee {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> ids;
  DIR* const folder = opendir(("/proc/" + std::to_string(process) + "/task").c_str());
  if (folder == nullptr) return ids;
  while (const dirent* entry = readdir(folder)) {
    const pid_t id = std::atoi(entry->d_name);
    if (id > 0) ids.push_back(id);
  }
  closedir(folder);
  return ids;
}

std::uint64_t thread_pointer_of([[maybe_unused]] pid_t id,
                                [[maybe_unused]] const std::vector<std::uint64_t>& registers) {
#if defined(__x86_64__)
  constexpr std::size_t place = offsetof(user_regs_struct, fs_base) / sizeof(std::uint64_t);
  return place < registers.size() ? registers[place] : 0;
#else
  std::uint64_t pointer = 0;
  iovec to{&pointer, sizeof pointer};
  constexpr int thread_pointer_set = 0x401;  // NT_ARM_TLS
  return ptrace(PTRACE_GETREGSET, id, thread_pointer_set, &to) == 0 ? pointer : 0;
#endif
}

std::uint64_t stack_pointer_in(const std::vector<std::uint64_t>& registers) {
#if defined(__x86_64__)
  constexpr std::size_t place = offsetof(user_regs_struct, rsp) / sizeof(std::uint64_t);
#else
  constexpr std::size_t place = 31;  // behind x0 to x30
#endif
  return place < registers.size() ? registers[place] : 0;
}

// Appends a set of registers of at most this many words. False: it has none, or is gone.
bool read_set(pid_t id, std::uintptr_t set, std::size_t most_words, std::vector<std::uint64_t>& registers) {
  const std::size_t before = registers.size();
  registers.resize(before + most_words);
  iovec to{&registers[before], most_words * sizeof(std::uint64_t)};
  const bool has_set = ptrace(PTRACE_GETREGSET, id, set, &to) == 0;
  registers.resize(before + (has_set ? to.iov_len / sizeof(std::uint64_t) : 0));
  return has_set;
}

// False: the thread is gone.
bool read_registers(StoppedThread& thread) {
  if (!read_set(thread.id, NT_PRSTATUS, 64, thread.registers)) return false;
  thread.stack_pointer = stack_pointer_in(thread.registers);
  thread.thread_pointer = thread_pointer_of(thread.id, thread.registers);
#if defined(__x86_64__)
  constexpr std::uintptr_t vector_set = NT_X86_XSTATE;
#else
  constexpr std::uintptr_t vector_set = NT_PRFPREG;
#endif
  constexpr std::size_t most_vector_words = 2048;  // 11 KiB with AMX tiles
  read_set(thread.id, vector_set, most_vector_words, thread.registers);
  return true;
}

bool is_our_child(pid_t process) {
  char line[256];
  bool is_ours = false;
  FILE* const file = std::fopen(("/proc/" + std::to_string(process) + "/status").c_str(), "re");
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, "PPid:", 5) == 0) is_ours = std::atoi(line + 5) == getpid();
  }
  if (file != nullptr) std::fclose(file);
  return is_ours;
}

// A thread that was killed while it was traced: nobody else is told of its end before we have taken it.
void reap(pid_t id) noexcept {
  constexpr int most_looks = 2'000;
  for (int look = 0; look < most_looks; ++look) {
    siginfo_t info{};
    const int failed =
        waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOHANG | static_cast<int>(__WALL));
    if (failed != 0 || info.si_pid == id) return;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

std::string StoppedProcess::stop(std::chrono::milliseconds patience) {
  begin_ = Clock::now();
  std::string reason = stop_all(begin_ + patience);
  if (reason.empty() && threads_.empty()) reason = "it has ended";
  if (!reason.empty()) resume();
  return reason;
}

// Threads start further threads until the last one is stopped.
std::string StoppedProcess::stop_all(Clock::time_point until) {
  std::set<pid_t> seen;
  for (bool has_more = true; has_more;) {
    has_more = false;
    for (const pid_t id : threads_of(process_)) {
      if (!seen.insert(id).second) continue;
      has_more = true;
      std::string reason = stop_one(id, until);
      if (!reason.empty()) return reason;
    }
  }
  return {};
}

// Empty: it is stopped and in threads_, or has ended. Otherwise why not.
std::string StoppedProcess::stop_one(pid_t id, Clock::time_point until) {
  if (ptrace(PTRACE_SEIZE, id, nullptr, nullptr) != 0) {
    if (errno == ESRCH) return {};
    const std::string why = std::strerror(errno);
    const bool is_ending = threads_of(process_).empty();
    return is_ending ? "it has ended" : "the kernel does not let us look at it (" + why + ")";
  }
  threads_.push_back({});
  threads_.back().id = id;
  ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr);
  if (!wait_for(threads_.back(), until)) return "its thread " + std::to_string(id) + " does not stop";
  if (read_registers(threads_.back())) return {};
  threads_.pop_back();
  if (id != process_) reap(id);
  return {};
}

// Only stops are waited for: the end of a child is left for those who want its status. False: out of time.
bool StoppedProcess::wait_for(StoppedThread& thread, Clock::time_point until) {
  for (long pause_ns = 2'000;; pause_ns = std::min(pause_ns * 2, 1'000'000L)) {
    siginfo_t info{};
    const int failed =
        waitid(P_PID, static_cast<id_t>(thread.id), &info, WSTOPPED | WNOHANG | static_cast<int>(__WALL));
    if (failed != 0 && errno != EINTR) return true;  // it is gone
    if (failed == 0 && info.si_pid == thread.id) {
      const bool is_ours = info.si_status >> 8 == PTRACE_EVENT_STOP;
      thread.signal = is_ours ? 0 : info.si_status & 0x7f;
      return true;
    }
    siginfo_t ended{};
    const bool has_ended = waitid(P_PID, static_cast<id_t>(thread.id), &ended,
                                  WEXITED | WNOHANG | WNOWAIT | static_cast<int>(__WALL)) == 0 &&
                           ended.si_pid == thread.id;
    if (has_ended) return true;
    if (Clock::now() >= until) return false;
    const timespec pause{0, pause_ns};
    nanosleep(&pause, nullptr);
  }
}

void StoppedProcess::resume() noexcept {
  for (const StoppedThread& thread : threads_) {
    const long failed = ptrace(PTRACE_DETACH, thread.id, nullptr, static_cast<std::uintptr_t>(thread.signal));
    if (failed != 0 && !(thread.id == process_ && is_our_child(process_))) reap(thread.id);
  }
  threads_.clear();
}

std::uint64_t StoppedProcess::stopped_ns() const noexcept {
  return static_cast<std::uint64_t>((Clock::now() - begin_) / std::chrono::nanoseconds(1));
}

}  // namespace heapwright::tracee
