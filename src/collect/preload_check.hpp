// SPDX-License-Identifier: MIT
// Why a program that a recorded one has started came up without the recorder,
// as far as its file says.
#pragma once

#include <cstdint>
#include <string>

namespace heapwright::collect {

// `program` as given to exec by process `process_id` of user `user_id`, which
// may be gone. Empty: the file says nothing against it, or cannot be found.
std::string why_never(const std::string& program, std::uint32_t process_id, std::uint32_t user_id);

// Whether every user may read the file.
bool is_open_to_all(const std::string& path);

}  // namespace heapwright::collect
