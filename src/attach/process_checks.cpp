// SPDX-License-Identifier: MIT
#include "attach/process_checks.hpp"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "attach/process_links.hpp"
#include "attach/refusal.hpp"
#include "attach/target_maps.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::attach {
namespace {

// Tests a kernel thread's flag in /proc/PID/stat.
bool is_kernel_thread(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 9; ++number) fields >> field;
  constexpr long kernel_thread = 0x200000;
  return (tracee::number_in(field) & kernel_thread) != 0;
}

void check_program(pid_t process) {
  std::ifstream file(tracee::memory_folder(process) + "/exe", std::ios::binary);
  unsigned char start[EI_NIDENT + 4] = {};
  if (!file.read(reinterpret_cast<char*>(start), sizeof start)) {
    return;  // unreadable: the kernel's refusal will say why
  }
  std::uint16_t machine = 0;
  std::memcpy(&machine, start + EI_NIDENT + 2, sizeof machine);
  if (start[EI_CLASS] != ELFCLASS64 || machine != EM_X86_64) {
    throw Refusal("it is a program of another architecture; heapwright knows 64-bit x86 programs");
  }
}

// Heapwright's heap confines its own thread, and no other (docs/decisions/0028). That thread makes no heap
// call.
bool has_own_heap(pid_t process) {
  const std::vector<Mapping> maps = read_maps(process);
  return std::any_of(maps.begin(), maps.end(), [](const Mapping& mapping) {
    return mapping.name.substr(mapping.name.rfind('/') + 1).starts_with("libheapwright.so");
  });
}

void check_threads(pid_t process, bool is_forced) {
  int filtered = 0;
  int free = 0;
  for (const pid_t thread : tracee::threads_of(process)) {
    if (tracee::has_ended(process, thread)) continue;
    auto status = tracee::read_status(process, thread);
    const std::string& state = status["State"];
    if (!state.empty() && (state[0] == 'T' || state[0] == 't')) {
      throw Refusal("it is stopped (" + state + "); continue it first: kill -CONT " +
                    std::to_string(process));
    }
    if (tracee::number_in(status["Seccomp"]) == tracee::seccomp_strict) {
      throw Refusal("it is in seccomp's strict mode, so the kernel would kill it for being attached to");
    }
    (tracee::number_in(status["Seccomp"]) == tracee::seccomp_filter ? filtered : free) += 1;
  }
  const bool is_own_heaps = filtered == 1 && free != 0 && has_own_heap(process);
  if (filtered != 0 && !is_own_heaps && !is_forced) {
    throw Refusal(
        "it has a seccomp filter that may kill it for the system calls made to attach; --despite-seccomp "
        "attaches anyway");
  }
}

}  // namespace

void check_process(pid_t process, pid_t asker, bool is_forced, bool is_recorded) {
  auto status = tracee::read_status(process);
  if (status.empty() || process <= 0) throw Refusal("there is no such process");
  if (const long group = tracee::number_in(status["Tgid"]); group != process) {
    throw Refusal("it is a thread of process " + std::to_string(group) + "; name that process");
  }
  if (process == getpid() || process == asker) throw Refusal("it is heapwright itself");
  if (is_kernel_thread(process)) throw Refusal("it is a kernel thread and has no heap");
  if (tracee::has_no_memory(process)) throw Refusal(tracee::it_has_ended);
  auto living = tracee::read_status(tracee::with_memory(process));
  if (tracee::number_in(living["TracerPid"]) != 0) throw Refusal(tracee::why_not_traced(process));
  check_program(process);
  check_threads(process, is_forced);
  if (is_recorded) return;
  for (const char* space : {"ns/mnt", "ns/pid", "root"}) {
    const std::string theirs = link_of(process, space);
    if (!theirs.empty() && theirs != link_of(getpid(), space)) {
      throw Refusal(
          "it runs in a container, another namespace or a chroot, whose /dev/shm is another; count it within "
          "that, or record it: heapwright record --pid");
    }
  }
}

}  // namespace heapwright::attach
