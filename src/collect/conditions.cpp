// SPDX-License-Identifier: MIT
#include "collect/conditions.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "collect/cgroup.hpp"
#include "collect/proc_files.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::collect {
namespace {

constexpr std::size_t longest_value = 4096;

// glibc and libstdc++, jemalloc, PHP, Python; the other families by prefix.
constexpr std::array<std::string_view, 12> setting_names = {
    "GLIBC_TUNABLES",  "GLIBCXX_TUNABLES",       "MALLOC_ARENA_MAX",       "MALLOC_ARENA_TEST",
    "MALLOC_CHECK_",   "MALLOC_MMAP_MAX_",       "MALLOC_MMAP_THRESHOLD_", "MALLOC_PERTURB_",
    "MALLOC_TOP_PAD_", "MALLOC_TRIM_THRESHOLD_", "USE_ZEND_ALLOC",         "PYTHONMALLOC",
};
constexpr std::array<std::string_view, 4> setting_prefixes = {"MIMALLOC_", "TCMALLOC_", "SCUDO_",
                                                              "HEAPWRIGHT_HEAP_"};

struct LimitLine {
  std::string_view label;  // as in /proc/PID/limits
  std::string_view name;
};
constexpr std::array<LimitLine, 3> limit_lines = {{
    {"Max address space", "address_space_limit_bytes"},
    {"Max data size", "data_limit_bytes"},
    {"Max stack size", "stack_limit_bytes"},
}};

std::string condition(std::string_view name, std::string_view value) {
  return std::string(name).append("\t").append(value);
}

// The word in brackets: "always [madvise] never".
std::string chosen_word(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open);
  return open == std::string_view::npos || close == std::string_view::npos
             ? std::string()
             : std::string(text.substr(open + 1, close - open - 1));
}

void add_settings(std::vector<std::string>& conditions, const std::string& folder) {
  const std::string environment = read_file(folder + "environ");
  // A process almost never has an empty environment: the file could not be read.
  if (environment.empty()) {
    conditions.push_back(condition("environment", "unreadable"));
    return;
  }
  for (std::string& setting : allocator_settings_in(environment)) conditions.push_back(std::move(setting));
}

// Without the suffix that a distribution adds to the release.
void add_system(std::vector<std::string>& conditions) {
  utsname system{};
  if (uname(&system) != 0) return;
  const std::string_view release = system.release;
  conditions.push_back(condition("architecture", system.machine));
  conditions.push_back(condition("kernel", release.substr(0, release.find('-'))));
}

}  // namespace

bool is_allocator_setting(std::string_view name) noexcept {
  // jemalloc's, with the prefix that it was built with.
  return std::find(setting_names.begin(), setting_names.end(), name) != setting_names.end() ||
         name.ends_with("MALLOC_CONF") ||
         std::any_of(setting_prefixes.begin(), setting_prefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<std::string> allocator_settings_in(std::string_view environment) {
  std::vector<std::string> settings;
  std::vector<std::string_view> names;
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
    const std::size_t equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    if (equals == std::string_view::npos || !is_allocator_setting(name)) continue;
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    settings.push_back(condition(name, entry.substr(equals + 1, longest_value)));
  }
  return settings;
}

std::vector<std::string> limits_in(std::string_view limits) {
  std::vector<std::string> found;
  for (const LimitLine& line : limit_lines) {
    const std::size_t at = limits.find(line.label);
    if (at == std::string_view::npos) continue;
    const std::optional<std::uint64_t> limit = number_at(limits.substr(at + line.label.size()));
    if (limit) found.push_back(condition(line.name, std::to_string(*limit)));
  }
  return found;
}

std::vector<std::string> conditions_of(std::uint32_t process_id, bool with_settings) {
  const std::string folder = "/proc/" + std::to_string(process_id) + "/";
  std::vector<std::string> conditions;
  if (with_settings) add_settings(conditions, tracee::memory_folder(static_cast<pid_t>(process_id)) + "/");
  cpu_set_t processors;
  if (sched_getaffinity(static_cast<pid_t>(process_id), sizeof processors, &processors) == 0) {
    conditions.push_back(condition("cpus", std::to_string(CPU_COUNT(&processors))));
  }
  add_system(conditions);
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  conditions.push_back(condition("machine_memory_bytes", std::to_string(pages * page_bytes)));
  const std::string huge = chosen_word(read_file("/sys/kernel/mm/transparent_hugepage/enabled"));
  if (!huge.empty()) conditions.push_back(condition("transparent_huge_pages", huge));
  const std::optional<std::uint64_t> overcommit = number_at(read_file("/proc/sys/vm/overcommit_memory"));
  if (overcommit) conditions.push_back(condition("overcommit_memory", std::to_string(*overcommit)));
  for (std::string& limit : limits_in(read_file(folder + "limits"))) conditions.push_back(std::move(limit));
  if (const auto limit = cgroup_memory_limit(read_file(folder + "cgroup"), "/sys/fs/cgroup")) {
    conditions.push_back(condition("cgroup_memory_limit_bytes", std::to_string(*limit)));
  }
  return conditions;
}

}  // namespace heapwright::collect
