// SPDX-License-Identifier: MIT
// CRC-32C (Castagnoli), the checksum of the trace format: by the SSE4.2 instruction if available, by table
// otherwise.
#pragma once

#include <nmmintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heapwright::base {

namespace crc32c_detail {

constexpr std::array<std::uint32_t, 256> make_table() noexcept {
  constexpr std::uint32_t reflected_polynomial = 0x82f63b78U;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t index = 0; index < 256; ++index) {
    std::uint32_t value = index;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? reflected_polynomial : 0U);
    table[index] = value;
  }
  return table;
}

inline constexpr std::array<std::uint32_t, 256> table = make_table();

}  // namespace crc32c_detail

// Both return the checksum of earlier bytes, `crc`, continued with these.
inline std::uint32_t crc32c_by_table(const void* data, std::size_t bytes, std::uint32_t crc = 0) noexcept {
  const auto* at = static_cast<const std::uint8_t*>(data);
  std::uint32_t state = ~crc;
  for (std::size_t i = 0; i < bytes; ++i) {
    state = (state >> 8U) ^ crc32c_detail::table[(state ^ at[i]) & 0xffU];
  }
  return ~state;
}

__attribute__((target("sse4.2"))) inline std::uint32_t crc32c_by_instruction(const void* data,
                                                                             std::size_t bytes,
                                                                             std::uint32_t crc = 0) noexcept {
  const auto* at = static_cast<const std::uint8_t*>(data);
  std::uint64_t state = ~crc;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<std::uint32_t>(state);
  for (; bytes > 0; --bytes, ++at) narrow = _mm_crc32_u8(narrow, *at);
  return ~narrow;
}

inline std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t crc = 0) noexcept {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  return has_instruction ? crc32c_by_instruction(data, bytes, crc) : crc32c_by_table(data, bytes, crc);
}

}  // namespace heapwright::base
