// SPDX-License-Identifier: MIT
#include "figures/process_figures.hpp"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "figures/group_memory.hpp"

namespace heapwright::figures {
namespace {

bool leading_number(std::string_view text, std::uint64_t& number) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{};
}

std::uint64_t read_clock(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

// Walking more takes milliseconds, and beyond this size the error of status is below 1 %.
constexpr std::uint64_t walked_bytes = std::uint64_t{64} << 20U;

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

Switches process_switches() noexcept {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return {static_cast<std::uint64_t>(usage.ru_nvcsw), static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

std::uint64_t process_cpu_ns() noexcept { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

std::uint64_t thread_cpu_ns() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

std::uint64_t now_ns() noexcept { return read_clock(CLOCK_MONOTONIC); }

std::uint64_t available_bytes() noexcept {
  char buffer[4096];
  const std::uint64_t machine = kilobyte_line(read_file("/proc/meminfo", buffer), "MemAvailable:");
  char groups[4096];
  return std::min(machine, group_available_bytes(read_file("/proc/self/cgroup", groups), "/sys/fs/cgroup"));
}

}  // namespace heapwright::figures
