// SPDX-License-Identifier: MIT
// The file next to the traces that lists the processes of a recording.
#pragma once

#include <string>

namespace heapwright::collect {

// Writes `text` to a file named after the first trace, "<its name>.session.json", with ".2" and so on
// inserted if an existing file is kept. Mode 0600. Returns its path; "" with errno set on failure.
std::string write_session_file(const std::string& first_trace, const std::string& text,
                               bool replaces_existing);

}  // namespace heapwright::collect
