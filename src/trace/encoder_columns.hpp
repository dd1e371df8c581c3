// SPDX-License-Identifier: MIT
// What the passes of the encoder share: the facts of a kind and the ends of
// the columns they append to.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/varint.hpp"
#include "trace/column.hpp"
#include "trace/value_predictors.hpp"

namespace heapwright::trace {

// What the encoder asks of a kind, as bits, so that one load answers all.
struct KindFacts {
  static constexpr std::uint8_t refers = 1;
  static constexpr std::uint8_t keeps = 2;
  static constexpr std::uint8_t has_old = 4;
  static constexpr std::uint8_t aligned = 8;
  static constexpr std::uint8_t stated = 16;
  std::array<std::uint8_t, 256> of_kind{};

  constexpr KindFacts() {
    for (std::size_t value = 0; value < of_kind.size(); ++value) {
      const auto kind = static_cast<EventKind>(value);
      of_kind[value] = static_cast<std::uint8_t>(
          (is_reference(kind) ? refers : 0) | (keeps_block(kind) ? keeps : 0) |
          (has_old_address(kind) ? has_old : 0) | (has_alignment(kind) ? aligned : 0) |
          (has_stated_size(kind) ? stated : 0));
    }
  }
  std::uint8_t operator[](EventKind kind) const noexcept { return of_kind[static_cast<std::uint8_t>(kind)]; }
};
inline constexpr KindFacts kind_facts;

// Where the next code and the next wide value of a column go. Local to a
// pass, because a byte stored through a member could be any other member.
struct ColumnEnds {
  std::uint8_t* code;
  std::uint8_t* wide;
  void put(std::uint8_t value) noexcept { *code++ = value; }
  void put_wide(std::uint64_t value) noexcept { wide = base::put_varint(wide, value); }
  void put_wide_signed(std::int64_t value) noexcept { put_wide(base::zigzag_encode(value)); }
  // A code and, when it is too large for one, what is beyond.
  void put_number(std::uint64_t value) noexcept {
    put(static_cast<std::uint8_t>(std::min<std::uint64_t>(value, code_wide)));
    if (value >= code_wide) [[unlikely]]
      put_wide(value - code_wide);
  }
};

}  // namespace heapwright::trace
