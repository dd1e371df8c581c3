// SPDX-License-Identifier: MIT
#include "figures/refusal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace heapwright::figures {
namespace {

[[noreturn]] void end_with_line(int exit_code, const char* format, va_list arguments) noexcept {
  char line[512];
  const int wanted = std::vsnprintf(line, sizeof(line) - 1, format, arguments);
  const auto length = static_cast<std::size_t>(std::clamp(wanted, 0, static_cast<int>(sizeof(line)) - 2));
  line[length] = '\n';
  if (write(STDERR_FILENO, line, length + 1) < 0) _exit(exit_code);
  _exit(exit_code);
}

}  // namespace

void end(int exit_code, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  end_with_line(exit_code, format, arguments);
}

void refuse(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  end_with_line(2, format, arguments);
}

void give_up(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  end_with_line(1, format, arguments);
}

}  // namespace heapwright::figures
