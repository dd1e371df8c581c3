// SPDX-License-Identifier: MIT
// Under which conditions a process runs that change what its heap does: its
// allocator's settings, processors, huge pages, limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heapwright::collect {

// Whether an environment variable sets an allocator. No other is ever read out.
bool is_allocator_setting(std::string_view name) noexcept;

// Of an environment as /proc/PID/environ holds it, "NAME\tVALUE" each. As the
// allocator sees it: the first of several variables of one name.
std::vector<std::string> allocator_settings_in(std::string_view environment);

// The limits of /proc/PID/limits that an allocator can meet, as far as they are
// set: "address_space_limit_bytes\t1048576".
std::vector<std::string> limits_in(std::string_view limits);

// All that is known of the process with this id, each as "NAME\tVALUE"; what
// cannot be read is left out, an environment that cannot be read is
// "environment\tunreadable". `with_settings`: its allocator's settings as well.
std::vector<std::string> conditions_of(std::uint32_t process_id, bool with_settings);

}  // namespace heapwright::collect
