// SPDX-License-Identifier: MIT
// LEB128: 7 bits per byte, low bits first, the top bit set on all bytes but the last. Signed values are
// mapped to unsigned first (zigzag).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace heapwright::base {

inline constexpr std::size_t max_varint_bytes = 10;

constexpr std::uint64_t zigzag_encode(std::int64_t value) noexcept {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63U);
}

constexpr std::int64_t zigzag_decode(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1U));
}

// Requires max_varint_bytes of space at `out`; returns the byte after the value.
inline std::uint8_t* put_varint(std::uint8_t* out, std::uint64_t value) noexcept {
  while (value >= 0x80U) {
    *out++ = static_cast<std::uint8_t>(value | 0x80U);
    value >>= 7U;
  }
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

// Reads untrusted bytes. Reading beyond the end or past 64 bits makes the source fail permanently; a failed
// source yields zeros, so a caller may check once at the end.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const std::uint8_t* begin, std::size_t bytes) noexcept : at_(begin), end_(begin + bytes) {}

  std::uint8_t byte() noexcept {
    if (at_ == end_) [[unlikely]] {
      return fail();
    }
    return *at_++;
  }

  std::uint64_t varint() noexcept {
    if (at_ != end_ && *at_ < 0x80U) [[likely]] {
      return *at_++;
    }
    return long_varint();
  }

  std::int64_t signed_varint() noexcept { return zigzag_decode(varint()); }

  // The next `bytes` bytes; nullptr if there are fewer.
  const std::uint8_t* take(std::size_t bytes) noexcept {
    if (remaining() < bytes) {
      fail();
      return nullptr;
    }
    const std::uint8_t* start = at_;
    at_ += bytes;
    return start;
  }

  // A length and that many bytes; empty if there are fewer.
  std::string_view text() noexcept {
    const std::uint64_t bytes = varint();
    if (bytes > remaining()) {
      fail();
      return {};
    }
    const std::uint8_t* start = take(static_cast<std::size_t>(bytes));
    return {reinterpret_cast<const char*>(start), static_cast<std::size_t>(bytes)};
  }

  std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  bool has_failed() const noexcept { return has_failed_; }

 private:
  std::uint8_t fail() noexcept {
    has_failed_ = true;
    at_ = end_;
    return 0;
  }

  std::uint64_t long_varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64U && at_ != end_; shift += 7U) {
      const std::uint64_t bits = *at_ & 0x7fU;
      const bool is_last = *at_++ < 0x80U;
      if (shift == 63U && bits > 1U) break;
      value |= bits << shift;
      if (is_last) return value;
    }
    return fail();
  }

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  bool has_failed_ = false;
};

}  // namespace heapwright::base
