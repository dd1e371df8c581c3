// SPDX-License-Identifier: MIT
// Conditions of a process that affect its heap: allocator settings, processors, huge pages, limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heapwright::collect {

// Whether an environment variable configures an allocator. No other variable is ever read.
bool is_allocator_setting(std::string_view name) noexcept;

// From an environment in the format of /proc/PID/environ, "NAME\tVALUE" each. Like the allocator, takes the
// first of several variables with one name.
std::vector<std::string> allocator_settings_in(std::string_view environment);

// The limits of /proc/PID/limits that matter to an allocator, if set: "address_space_limit_bytes\t1048576".
std::vector<std::string> limits_in(std::string_view limits);

// Everything known about the process with this id, each as "NAME\tVALUE". Unreadable facts are left out; an
// unreadable environment gives "environment\tunreadable". `with_settings`: include its allocator's settings.
std::vector<std::string> conditions_of(std::uint32_t process_id, bool with_settings);

}  // namespace heapwright::collect
