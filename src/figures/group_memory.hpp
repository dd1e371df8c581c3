// SPDX-License-Identifier: MIT
// What control groups still allow a process to take. Uses no heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace heapwright::figures {

// Of the groups that the text names (as /proc/self/cgroup, of both versions) and all above them, in the
// hierarchies mounted below `root`: the least. What they use for files counts as free, since it can be given
// back. UINT64_MAX where nothing is limited.
std::uint64_t group_available_bytes(std::string_view groups, std::string_view root) noexcept;

// As much of a file as the buffer takes; empty when it cannot be read.
std::string_view read_file(const char* path, std::span<char> buffer) noexcept;

}  // namespace heapwright::figures
