// SPDX-License-Identifier: MIT
// What a process's cgroups say of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heapwright::collect {

// The smallest memory limit of these cgroups, as /proc/PID/cgroup names them, and of all above them;
// nothing where none is set. `root`: where the hierarchies are mounted.
std::optional<std::uint64_t> cgroup_memory_limit(std::string_view cgroups, const std::string& root);

// The file that tells how much memory is charged to the cgroup of these that
// counts it; "" where none does.
std::string cgroup_charge_file(std::string_view cgroups, const std::string& root);

}  // namespace heapwright::collect
