// SPDX-License-Identifier: MIT
// What /proc says, as text and numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heapwright::collect {

// As far as it can be read; empty when it cannot.
std::string read_file(const std::string& path);

// The number at the begin of the text, after spaces; nothing for "unlimited" and "max".
std::optional<std::uint64_t> number_at(std::string_view text);

// Names in a folder that are numbers above 0, such as process ids in /proc.
std::vector<std::uint32_t> numbers_in(const std::string& folder);

// The inode of the PID namespace that process `name` ("self" or a number) lives
// in; 0 when it cannot be asked.
std::uint32_t pid_namespace_of(const std::string& name);

// By which number a process or thread sees itself, from its /proc/.../status.
// 0 when that is not there (kernels before 4.1).
std::uint32_t own_number_in(const std::string& status);

}  // namespace heapwright::collect
