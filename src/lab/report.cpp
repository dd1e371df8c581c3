// SPDX-License-Identifier: MIT
#include "lab/report.hpp"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstring>

namespace heapwright::lab {

namespace {
constexpr std::size_t max_bytes = std::size_t{4} << 20;
}

Report::Report() : text_(max_bytes) { put("{"); }

void Report::figure(std::string_view name, double value) {
  key(name);
  put_number(value);
}

void Report::text(std::string_view name, std::string_view value) {
  key(name);
  put("\"");
  for (const char letter : value) {
    const bool is_plain = letter >= ' ' && letter != '"' && letter != '\\';
    put(is_plain ? std::string_view(&letter, 1) : "?");
  }
  put("\"");
}

void Report::series(std::string_view name, std::span<const double> values) {
  key(name);
  put("[");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) put(",");
    put_number(values[i]);
  }
  put("]");
}

void Report::finish() { put("}\n"); }

bool Report::print() const noexcept {
  std::size_t done = 0;
  while (done < length_) {
    const ssize_t written = write(STDOUT_FILENO, &text_[done], length_ - done);
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

void Report::put(std::string_view text) noexcept {
  if (length_ + text.size() > text_.size()) refuse("the result is larger than %zu bytes", max_bytes);
  std::memcpy(&text_[length_], text.data(), text.size());
  length_ += text.size();
}

// JSON knows no infinity and no NaN.
void Report::put_number(double value) noexcept {
  if (!std::isfinite(value)) return put("null");
  char digits[32];
  const auto result = std::to_chars(digits, digits + sizeof(digits), value, std::chars_format::general, 7);
  put({digits, static_cast<std::size_t>(result.ptr - digits)});
}

void Report::key(std::string_view name) noexcept {
  if (length_ > 1) put(",");
  put("\"");
  put(name);
  put("\":");
}

}  // namespace heapwright::lab
