// SPDX-License-Identifier: MIT
#include "attach/process_links.hpp"

#include <limits.h>
#include <unistd.h>

#include "counters/page_file.hpp"

namespace heapwright::attach {
namespace {

std::string folder_of(pid_t process) { return "/proc/" + std::to_string(process); }

}  // namespace

std::uint64_t start_ticks_of(pid_t process) {
  return counters::process_start_ticks((folder_of(process) + "/stat").c_str());
}

std::string link_of(pid_t process, const std::string& name) {
  char target[PATH_MAX];
  const ssize_t length = readlink((folder_of(process) + "/" + name).c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : "";
}

}  // namespace heapwright::attach
