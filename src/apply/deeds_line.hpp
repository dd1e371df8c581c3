// SPDX-License-Identifier: MIT
// A line about what a remedy has done, for stderr or a file, written without allocation.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "platform/raw_syscall.hpp"

namespace heapwright::apply {

// Longer ones are cut.
class DeedsLine {
 public:
  DeedsLine& text(const char* words) noexcept {
    const std::size_t length = std::min(std::strlen(words), sizeof letters_ - length_);
    std::memcpy(letters_ + length_, words, length);
    length_ += length;
    return *this;
  }
  DeedsLine& number(std::uint64_t value) noexcept {
    const auto written = std::to_chars(letters_ + length_, std::end(letters_), value);
    length_ = static_cast<std::size_t>(written.ptr - letters_);
    return *this;
  }
  // In one write.
  void write(int file) noexcept {
    const auto length = static_cast<long>(length_);
    platform::raw_syscall(SYS_write, file, platform::raw_argument(letters_), length);
  }

 private:
  char letters_[512];
  std::size_t length_ = 0;
};

}  // namespace heapwright::apply
