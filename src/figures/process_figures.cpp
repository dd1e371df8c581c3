// SPDX-License-Identifier: MIT
#include "figures/process_figures.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <span>

namespace heapwright::figures {
namespace {

std::string_view read_file(const char* path, std::span<char> buffer) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::size_t length = 0;
  while (length < buffer.size()) {
    const ssize_t count = read(file, buffer.data() + length, buffer.size() - length);
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
  }
  close(file);
  return {buffer.data(), length};
}

bool leading_number(std::string_view text, std::uint64_t& number) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{};
}

std::uint64_t read_clock(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

// Walking more than that takes milliseconds, and what status lags behind is then less than 1 %.
constexpr std::uint64_t walked_bytes = std::uint64_t{64} << 20U;

// What the control group of this process may still take (cgroup v2).
std::uint64_t group_available_bytes() noexcept {
  char buffer[64];
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
  const bool is_limited = leading_number(read_file("/sys/fs/cgroup/memory.max", buffer), limit) &&
                          leading_number(read_file("/sys/fs/cgroup/memory.current", buffer), used);
  return is_limited ? limit - std::min(limit, used) : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::uint64_t kilobyte_line(std::string_view text, std::string_view name) noexcept {
  std::uint64_t kilobytes = 0;
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool starts_line = at == 0 || text[at - 1] == '\n';
    if (starts_line && leading_number(text.substr(at + name.size()), kilobytes)) return kilobytes * 1024;
  }
  return 0;
}

std::uint64_t resident_bytes() noexcept {
  char buffer[4096];
  const std::uint64_t rolled_up = kilobyte_line(read_file("/proc/self/smaps_rollup", buffer), "Rss:");
  return rolled_up > 0 ? rolled_up : kilobyte_line(read_file("/proc/self/status", buffer), "VmRSS:");
}

double resident_growth_bytes(std::uint64_t before_bytes) noexcept {
  return static_cast<double>(resident_bytes()) - static_cast<double>(before_bytes);
}

std::uint64_t peak_resident_bytes() noexcept {
  char buffer[4096];
  return kilobyte_line(read_file("/proc/self/status", buffer), "VmHWM:");
}

AnonymousMemory anonymous_memory() noexcept {
  char buffer[4096];
  const std::string_view status = read_file("/proc/self/status", buffer);
  AnonymousMemory found;
  found.resident_bytes = kilobyte_line(status, "RssAnon:");
  const std::uint64_t peak = kilobyte_line(status, "VmHWM:");
  const std::uint64_t others = kilobyte_line(status, "RssFile:") + kilobyte_line(status, "RssShmem:");
  found.peak_bytes = std::max(found.resident_bytes, peak - std::min(peak, others));
  if (found.resident_bytes < walked_bytes) {
    found.resident_bytes = kilobyte_line(read_file("/proc/self/smaps_rollup", buffer), "Anonymous:");
  }
  return found;
}

std::uint64_t minor_faults() noexcept {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

std::uint64_t thread_voluntary_switches() noexcept {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

std::uint64_t process_cpu_ns() noexcept { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

std::uint64_t thread_cpu_ns() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

std::uint64_t now_ns() noexcept { return read_clock(CLOCK_MONOTONIC); }

std::uint64_t available_bytes() noexcept {
  char buffer[4096];
  const std::uint64_t machine = kilobyte_line(read_file("/proc/meminfo", buffer), "MemAvailable:");
  return std::min(machine, group_available_bytes());
}

}  // namespace heapwright::figures
