// SPDX-License-Identifier: MIT
#include "figures/report.hpp"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstring>

namespace heapwright::figures {

namespace {
constexpr std::size_t max_bytes = std::size_t{4} << 20;

// No memory or time is this large; a size that went below zero is larger.
constexpr double largest_figure = 9e18;

void require_possible(std::string_view name, double value) {
  if (std::isfinite(value) && std::abs(value) < largest_figure) return;
  give_up("impossible figure: %.*s = %g; a larger --scale may help", static_cast<int>(name.size()),
          name.data(), value);
}
}  // namespace

double possible_rate(std::string_view name, double operations, std::uint64_t elapsed_ns,
                     std::size_t threads) {
  const auto elapsed = static_cast<double>(elapsed_ns);
  if (elapsed * static_cast<double>(threads) >= operations * least_ns_per_operation && elapsed_ns > 0) {
    return operations * 1e9 / elapsed;
  }
  give_up("impossible figure: %.*s: %g in %g ns by %zu threads; no allocator is that fast",
          static_cast<int>(name.size()), name.data(), operations, elapsed, threads);
}

Report::Report() : text_(max_bytes) { put("{"); }

void Report::figure(std::string_view name, double value) {
  require_possible(name, value);
  key(name);
  put_number(value);
}

void Report::rate(std::string_view name, double operations, std::uint64_t elapsed_ns, std::size_t threads) {
  figure(name, possible_rate(name, operations, elapsed_ns, threads));
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
    require_possible(name, values[i]);
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

void Report::put_number(double value) noexcept {
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

}  // namespace heapwright::figures
