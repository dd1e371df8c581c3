// SPDX-License-Identifier: MIT
// Text from shared memory, which may lack its terminator or hold anything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "session/layout.hpp"

namespace heapwright::collect {

// Up to the first zero byte or the end of the array.
template <std::size_t capacity>
std::string text_of(const char (&characters)[capacity]) {
  return std::string(characters, strnlen(characters, capacity));
}

// The executed path, which may be a link to the executable; the executable's own path if it was executed by
// descriptor.
inline std::string started_as(const session::ProcessBlock& block) {
  const std::string path = text_of(block.started_as);
  const bool is_descriptor = path.starts_with("/dev/fd/") || path.starts_with("/proc/");
  return path.empty() || is_descriptor ? text_of(block.executable) : path;
}

// At most all of `bytes`, as lower-case hexadecimal digits.
template <std::size_t capacity>
std::string hexadecimal(const std::uint8_t (&bytes)[capacity], std::size_t count) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < std::min(count, capacity); ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

}  // namespace heapwright::collect
