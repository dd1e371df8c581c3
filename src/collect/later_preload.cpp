// SPDX-License-Identifier: MIT
#include "collect/later_preload.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string_view>

#include "collect/proc_files.hpp"

namespace heapwright::collect {
namespace {

// Of the same length.
constexpr std::string_view preload = "LD_PRELOAD=";
constexpr std::string_view later = "LD_PRELOAX=";
constexpr char later_name[] = "LD_PRELOAX";
constexpr int place_of_environment = 50;  // in /proc/PID/stat, from 1

std::uint64_t environment_of(const std::string& folder) {
  const std::string stat = read_file(folder + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string field;
  for (int number = 3; number <= place_of_environment; ++number) fields >> field;
  return number_at(field).value_or(0);
}

// What a variable is to begin with from now on; empty: as before.
std::string_view other_name(std::string_view variable) {
  if (variable.starts_with(later)) return preload;
  return variable.starts_with(preload) ? later : std::string_view();
}

}  // namespace

void prepare_later_preload(const std::string& library) {
  const char* const other = getenv("LD_PRELOAD");
  const bool has_other = other != nullptr && *other != '\0';
  setenv(later_name, (has_other ? library + ":" + other : library).c_str(), 1);
}

void begin_preload_here() {
  if (const char* const value = getenv(later_name)) setenv("LD_PRELOAD", value, 1);
  unsetenv(later_name);
}

bool begin_later_preload(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  const std::uint64_t begin = environment_of(folder);
  const std::string environment = read_file(folder + "/environ");
  const int memory = open((folder + "/mem").c_str(), O_RDWR | O_CLOEXEC);
  bool is_written = begin != 0 && memory >= 0;
  std::size_t next = 0;
  for (std::size_t at = 0; is_written && at < environment.size(); at = next) {
    next = std::min(environment.find('\0', at), environment.size() - 1) + 1;
    const std::string_view name = other_name(std::string_view(environment).substr(at, next - at));
    if (name.empty()) continue;
    is_written = pwrite(memory, name.data(), name.size(), static_cast<off_t>(begin + at)) ==
                 static_cast<ssize_t>(name.size());
  }
  if (memory >= 0) close(memory);
  return is_written;
}

}  // namespace heapwright::collect
