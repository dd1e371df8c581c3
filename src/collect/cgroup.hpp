// SPDX-License-Identifier: MIT
// Memory limits and charges of a process's cgroups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heapwright::collect {

// The smallest memory limit of these cgroups (in the format of /proc/PID/cgroup) and their ancestors; nothing
// if none is set. `root`: where the hierarchies are mounted.
std::optional<std::uint64_t> cgroup_memory_limit(std::string_view cgroups, const std::string& root);

// The file with the memory charge of the cgroup that counts memory; "": there is none.
std::string cgroup_charge_file(std::string_view cgroups, const std::string& root);

}  // namespace heapwright::collect
