// SPDX-License-Identifier: MIT
#include "collect/messages.hpp"

#include <unistd.h>

namespace heapwright::collect {
namespace {

// One write per line, so that the program's output cannot interleave.
void write_line(std::string line) {
  for (char& character : line) {
    if (static_cast<unsigned char>(character) < ' ' || character == 0x7f) character = '?';
  }
  line += '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void say_error(const std::string& text) { write_line("heapwright: " + text); }

void Messages::say(const std::string& text) const {
  if (!is_quiet_) say_error(text);
}

void Messages::suggest(const std::string& command) const {
  if (!is_quiet_ && !command.empty()) write_line("next: " + command);
}

std::string with_commas(unsigned long long value) {
  std::string digits = std::to_string(value);
  for (std::size_t left = digits.size(); left > 3; left -= 3) digits.insert(left - 3, 1, ',');
  return digits;
}

}  // namespace heapwright::collect
