// SPDX-License-Identifier: MIT
// Lines on standard error. All but the suggested next command begin with the program's name.
#pragma once

#include <string>

namespace heapwright::collect {

// A person must act on this; printed even with --quiet.
void say_error(const std::string& text);

// Progress messages; silent with --quiet.
class Messages {
 public:
  explicit Messages(bool is_quiet) : is_quiet_(is_quiet) {}
  void say(const std::string& text) const;
  // "next: " and a command; nothing when there is none.
  void suggest(const std::string& command) const;

 private:
  bool is_quiet_;
};

// "1,234,567"
std::string with_commas(unsigned long long value);

}  // namespace heapwright::collect
