// SPDX-License-Identifier: MIT
// The command line of heapwright-attach.
#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace heapwright::attach {

// One line that says what is expected.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Options {
  pid_t process = 0;
  bool is_recording = false;  // instead of counting
  bool is_forced = false;
  bool with_children = false;  // of a recorded process: they are recorded, too
  bool is_inside = false;      // the allocator in the executable, by its symbol table
  bool is_held = false;        // counted: it has called nothing yet
  pid_t keeper = 0;            // counted: who reads its page at the end; 0: our parent
  bool show_help = false;
  bool show_version = false;
};

extern const char help_text[];

Options parse_options(const std::vector<std::string>& arguments);

}  // namespace heapwright::attach
