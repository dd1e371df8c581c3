// SPDX-License-Identifier: MIT
// How much memory cgroups still allow a process to take. Uses no heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace heapwright::figures {

// The minimum over the groups in the text (in the format of /proc/self/cgroup, both versions) and all their
// ancestors, in the hierarchies mounted below `root`. Their page cache counts as free, since it can be
// reclaimed. UINT64_MAX if nothing is limited.
std::uint64_t group_available_bytes(std::string_view groups, std::string_view root) noexcept;

// As much of a file as fits into the buffer; empty if it cannot be read.
std::string_view read_file(const char* path, std::span<char> buffer) noexcept;

}  // namespace heapwright::figures
