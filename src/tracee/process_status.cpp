// SPDX-License-Identifier: MIT
#include "tracee/process_status.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

namespace heapwright::tracee {
namespace {

std::string folder_of(pid_t process, pid_t thread) {
  const std::string folder = "/proc/" + std::to_string(process);
  return thread == 0 ? folder : folder + "/task/" + std::to_string(thread);
}

std::string value_of(const std::map<std::string, std::string>& status, const std::string& label) {
  const auto found = status.find(label);
  return found == status.end() ? "" : found->second;
}

struct Users {
  long real = -1;
  long effective = -1;
  long saved = -1;
};

Users users_of(const std::map<std::string, std::string>& status) {
  Users users;
  std::istringstream(value_of(status, "Uid")) >> users.real >> users.effective >> users.saved;
  return users;
}

}  // namespace

std::map<std::string, std::string> read_status(pid_t process, pid_t thread) {
  std::map<std::string, std::string> fields;
  std::ifstream file(folder_of(process, thread) + "/status");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    fields[line.substr(0, colon)] = begin == std::string::npos ? "" : line.substr(begin);
  }
  return fields;
}

long number_in(const std::string& value) { return std::strtol(value.c_str(), nullptr, 10); }

long number_within(pid_t process, pid_t thread) {
  const std::string numbers = read_status(process, thread)["NSpid"];  // from the outermost namespace on
  return number_in(numbers.substr(numbers.find_last_of(" \t") + 1));
}

bool is_in_namespace_below(pid_t process) {
  return read_status(process)["NSpid"].find_first_of(" \t") != std::string::npos;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir((folder_of(process, 0) + "/task").c_str()),
                                                   closedir);
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder.get())) {
    if (const auto id = static_cast<pid_t>(number_in(entry->d_name))) found.push_back(id);
  }
  return found;
}

std::string state_of(pid_t process, pid_t thread) { return value_of(read_status(process, thread), "State"); }

bool has_ended(pid_t process, pid_t thread) {
  const std::string state = state_of(process, thread);
  return state.empty() || state[0] == 'Z' || state[0] == 'X';
}

pid_t with_memory(pid_t process) {
  if (!has_ended(process, process)) return process;
  for (const pid_t thread : threads_of(process)) {
    if (!has_ended(process, thread)) return thread;
  }
  return process;
}

std::string memory_folder(pid_t process) { return folder_of(with_memory(process), 0); }

bool has_no_memory(pid_t process) { return !read_status(with_memory(process)).contains("VmSize"); }

std::string why_not_traced(pid_t process) {
  const auto status = read_status(with_memory(process));
  if (status.empty()) return it_has_ended;
  if (const long tracer = number_in(value_of(status, "TracerPid")); tracer != 0) {
    return "it is traced by process " + std::to_string(tracer) + " (a debugger?); end that first";
  }
  const Users users = users_of(status);
  const long own = geteuid();
  if (own != 0) {
    if (users.real != own && users.effective != own) {
      return "it belongs to user " + std::to_string(users.effective) + "; become that user, or root";
    }
    if (users.real != users.effective || users.effective != users.saved) {
      return "it runs a setuid program; only root may trace it";
    }
    // The /proc files of a non-dumpable process belong to root.
    struct stat file {};
    if (stat((memory_folder(process) + "/stat").c_str(), &file) == 0 &&
        file.st_uid != static_cast<uid_t>(users.effective)) {
      return "it is not dumpable (PR_SET_DUMPABLE) or has file capabilities; only root may trace it";
    }
  }
  std::ifstream yama("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (yama >> scope && scope != 0) {
    const std::string remedy = scope == 1   ? ", set it to 0, or start the program with "
                                              "LD_PRELOAD=/path/to/libheapwright-attachable.so"
                               : scope == 3 ? " after a restart with another setting"
                                            : ", or set it to 0";
    return "kernel.yama.ptrace_scope is " + std::to_string(scope) + ", which forbids it; run as root" +
           remedy;
  }
  if (own == 0) {
    return "the kernel forbids it even to root: the capability SYS_PTRACE or ptrace() was taken away, as in "
           "many containers, or a security module forbids it";
  }
  return "the kernel forbids it; run as root, or with the capability SYS_PTRACE";
}

}  // namespace heapwright::tracee
