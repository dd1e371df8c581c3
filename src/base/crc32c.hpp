// SPDX-License-Identifier: MIT
// CRC-32C (Castagnoli), the checksum of the trace format: by the processor's instruction (SSE4.2, Armv8's
// optional CRC32) if available, by table otherwise.
#pragma once

#if defined(__x86_64__)
#include <nmmintrin.h>
#else
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heapwright::base {

namespace crc32c_detail {

#if defined(__x86_64__)
#define HEAPWRIGHT_CRC32C_TARGET "sse4.2"
inline bool has_instruction() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }
#else
#define HEAPWRIGHT_CRC32C_TARGET "+crc"
inline bool has_instruction() noexcept { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#endif

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

__attribute__((target(HEAPWRIGHT_CRC32C_TARGET))) inline std::uint32_t crc32c_by_instruction(
    const void* data, std::size_t bytes, std::uint32_t crc = 0) noexcept {
  const auto* at = static_cast<const std::uint8_t*>(data);
#if defined(__x86_64__)
  std::uint64_t state = ~crc;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<std::uint32_t>(state);
  for (; bytes > 0; --bytes, ++at) narrow = _mm_crc32_u8(narrow, *at);
#else
  std::uint32_t narrow = ~crc;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    narrow = __crc32cd(narrow, word);
  }
  for (; bytes > 0; --bytes, ++at) narrow = __crc32cb(narrow, *at);
#endif
  return ~narrow;
}

inline std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t crc = 0) noexcept {
  static const bool has_instruction = crc32c_detail::has_instruction();
  return has_instruction ? crc32c_by_instruction(data, bytes, crc) : crc32c_by_table(data, bytes, crc);
}

}  // namespace heapwright::base
