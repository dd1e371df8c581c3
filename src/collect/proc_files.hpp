// SPDX-License-Identifier: MIT
// Reads text and numbers from /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heapwright::collect {

// As much as can be read; empty if nothing can.
std::string read_file(const std::string& path);

// The number at the start of the text, after spaces; nothing for "unlimited" and "max".
std::optional<std::uint64_t> number_at(std::string_view text);

// Names in a folder that are numbers above 0, such as process ids in /proc.
std::vector<std::uint32_t> numbers_in(const std::string& folder);

// The inode of the PID namespace of process `name` ("self" or a number); 0 when it cannot be read.
std::uint32_t pid_namespace_of(const std::string& name);

// The id by which a process or thread knows itself, from its /proc/.../status. 0 if the field is missing
// (kernels before 4.1).
std::uint32_t own_number_in(const std::string& status);

}  // namespace heapwright::collect
