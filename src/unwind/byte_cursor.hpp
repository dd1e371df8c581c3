// SPDX-License-Identifier: MIT
// Bounds-checked reading of unwind tables in memory. After a read beyond the end, every further read yields 0
// and has_failed() stays true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heapwright::unwind {

// DWARF exception header pointer encodings (LSB core, 10.5.1).
inline constexpr std::uint8_t encoding_format_mask = 0x0f;
inline constexpr std::uint8_t encoding_base_mask = 0x70;
inline constexpr std::uint8_t encoding_pc_relative = 0x10;
inline constexpr std::uint8_t encoding_data_relative = 0x30;
inline constexpr std::uint8_t encoding_omitted = 0xff;

class ByteCursor {
 public:
  ByteCursor(const void* at, const void* end)
      : at_(static_cast<const std::uint8_t*>(at)), end_(static_cast<const std::uint8_t*>(end)) {
    if (at_ > end_) fail();
  }

  bool has_failed() const { return has_failed_; }
  bool is_at_end() const { return at_ >= end_; }
  const std::uint8_t* position() const { return at_; }
  std::size_t remaining_bytes() const { return static_cast<std::size_t>(end_ - at_); }

  template <typename T>
  T read() {
    T value{};
    if (remaining_bytes() < sizeof(T)) {
      fail();
      return value;
    }
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  void skip(std::uint64_t bytes) {
    if (bytes > remaining_bytes()) return fail();
    at_ += bytes;
  }

  std::uint64_t read_uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = read<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail();
    return 0;
  }

  std::int64_t read_sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = read<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift + 7 < 64) value |= ~0ULL << (shift + 7);
      return static_cast<std::int64_t>(value);
    }
    fail();
    return 0;
  }

  // Reads a pointer with this encoding; `data_base` is the base of data-relative ones. Indirect pointers are
  // not followed.
  std::uint64_t read_encoded(std::uint8_t encoding, std::uint64_t data_base) {
    const auto here = reinterpret_cast<std::uint64_t>(at_);
    const std::uint64_t value = read_unbased(encoding & encoding_format_mask);
    switch (encoding & encoding_base_mask) {
      case 0:
        return value;
      case encoding_pc_relative:
        return value + here;
      case encoding_data_relative:
        return value + data_base;
      default:
        fail();
        return 0;
    }
  }

 private:
  std::uint64_t read_unbased(std::uint8_t format) {
    switch (format) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return read<std::uint64_t>();
      case 0x01:
        return read_uleb();
      case 0x02:
        return read<std::uint16_t>();
      case 0x03:
        return read<std::uint32_t>();
      case 0x09:
        return static_cast<std::uint64_t>(read_sleb());
      case 0x0a:
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(read<std::int16_t>()));
      case 0x0b:
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(read<std::int32_t>()));
      default:
        fail();
        return 0;
    }
  }

  void fail() {
    has_failed_ = true;
    at_ = end_;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool has_failed_ = false;
};

}  // namespace heapwright::unwind
