// SPDX-License-Identifier: MIT
// The file beside the traces that tells what processes a recording had.
#pragma once

#include <string>

namespace heapwright::collect {

// Writes `text` to a file named after the first trace, "<its name>.session.json"
// with ".2" and so on put in where one is kept. Mode 0600. Its path; "" with
// errno set when it cannot be written.
std::string write_session_file(const std::string& first_trace, const std::string& text,
                               bool replaces_existing);

}  // namespace heapwright::collect
