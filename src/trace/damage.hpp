// SPDX-License-Identifier: MIT
// What can be wrong with a trace.
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

// Something missing or unreadable, in words for the report.
struct Damage {
  std::uint64_t file_offset = 0;
  std::string what;
};

}  // namespace heapwright::trace
