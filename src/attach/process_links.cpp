// SPDX-License-Identifier: MIT
#include "attach/process_links.hpp"

#include <limits.h>
#include <unistd.h>

#include "counters/page_file.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::attach {

std::uint64_t start_ticks_of(pid_t process) {
  return counters::process_start_ticks(("/proc/" + std::to_string(process) + "/stat").c_str());
}

std::string link_of(pid_t process, const std::string& name) {
  char target[PATH_MAX];
  const ssize_t length =
      readlink((tracee::memory_folder(process) + "/" + name).c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : "";
}

}  // namespace heapwright::attach
