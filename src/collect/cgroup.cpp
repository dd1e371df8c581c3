// SPDX-License-Identifier: MIT
#include "collect/cgroup.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "collect/proc_files.hpp"

namespace heapwright::collect {
namespace {

// A cgroup with a memory controller.
struct Cgroup {
  std::string hierarchy;  // folder
  std::string path;       // in it; "" or begins with '/'
  const char* limit_file;
  const char* charge_file;
};

// "0::/user.slice" is version 2, "4:memory:/service" the memory controller of version 1.
std::vector<Cgroup> memory_cgroups(std::string_view cgroups, const std::string& root) {
  std::vector<Cgroup> found;
  while (!cgroups.empty()) {
    const std::string_view line = cgroups.substr(0, cgroups.find('\n'));
    cgroups.remove_prefix(std::min(line.size() + 1, cgroups.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string path(line.substr(second + 1));
    if (path == "/") path.clear();
    if (controllers.empty()) found.push_back({root, path, "/memory.max", "/memory.current"});
    if (controllers == "memory") {
      found.push_back({root + "/memory", path, "/memory.limit_in_bytes", "/memory.usage_in_bytes"});
    }
  }
  return found;
}

// A cgroup inherits the limits of all its ancestors: the smallest applies.
std::optional<std::uint64_t> smallest_limit(const Cgroup& cgroup) {
  std::optional<std::uint64_t> smallest;
  std::string path = cgroup.path;
  while (true) {
    const std::optional<std::uint64_t> limit =
        number_at(read_file(cgroup.hierarchy + path + cgroup.limit_file));
    if (limit) smallest = std::min(smallest.value_or(*limit), *limit);
    if (path.empty()) return smallest;
    path.resize(std::min(path.rfind('/'), path.size() - 1));
  }
}

}  // namespace

std::optional<std::uint64_t> cgroup_memory_limit(std::string_view cgroups, const std::string& root) {
  constexpr std::uint64_t no_limit = 1ULL << 62;  // version 1 spells it as a number near 2^63
  std::optional<std::uint64_t> smallest;
  for (const Cgroup& cgroup : memory_cgroups(cgroups, root)) {
    const std::optional<std::uint64_t> limit = smallest_limit(cgroup);
    if (limit && *limit < no_limit) smallest = std::min(smallest.value_or(*limit), *limit);
  }
  return smallest;
}

std::string cgroup_charge_file(std::string_view cgroups, const std::string& root) {
  for (const Cgroup& cgroup : memory_cgroups(cgroups, root)) {
    // In a container the hierarchy is mounted at the container's cgroup, while the path may be the one seen
    // from outside.
    for (const std::string& path : {cgroup.path, std::string()}) {
      std::string file = cgroup.hierarchy + path + cgroup.charge_file;
      if (access(file.c_str(), R_OK) == 0) return file;
    }
  }
  return "";
}

}  // namespace heapwright::collect
