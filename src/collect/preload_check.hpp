// SPDX-License-Identifier: MIT
// Why a program started by a recorded one runs without the recorder, as far as its file shows.
#pragma once

#include <cstdint>
#include <string>

namespace heapwright::collect {

// `program` as given to exec by process `process_id` of user `user_id`; the process may be gone. Empty: the
// file shows no obstacle, or cannot be found.
std::string why_never(const std::string& program, std::uint32_t process_id, std::uint32_t user_id);

// Whether every user may read the file.
bool is_open_to_all(const std::string& path);

}  // namespace heapwright::collect
