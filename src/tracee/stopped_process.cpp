// SPDX-License-Identifier: MIT
#include "tracee/stopped_process.hpp"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <cstddef>
#include <utility>

namespace heapwright::tracee {
namespace {

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

}  // namespace

std::string StoppedProcess::stop(std::chrono::milliseconds patience) {
  const SeizedThreads::Outcome outcome = seized_.stop(patience);
  if (outcome != SeizedThreads::Outcome::stopped) return seized_.why_not(outcome);
  for (const auto& [id, seized] : seized_.threads()) {
    StoppedThread thread;
    thread.id = id;
    if (read_registers(thread)) threads_.push_back(std::move(thread));
  }
  if (!threads_.empty()) return {};
  resume();
  return seized_.why_not(SeizedThreads::Outcome::ended);
}

void StoppedProcess::resume() noexcept {
  seized_.resume();
  threads_.clear();
}

}  // namespace heapwright::tracee
