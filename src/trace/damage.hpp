// SPDX-License-Identifier: MIT
// Errors and damage in a trace.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace heapwright::trace {

// One line that says what to do.
class TraceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Something missing or unreadable, described for the report.
struct Damage {
  std::uint64_t file_offset = 0;
  std::string what;
};

}  // namespace heapwright::trace
