// SPDX-License-Identifier: MIT
// Shared by the parts of the encoder: the facts of an event kind and the columns that they append to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "trace/column.hpp"
#include "trace/format.hpp"

namespace heapwright::trace {

// The encoder's facts about a kind, as bits, so that one load reads all.
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

// A column of codes: one for each event it concerns, so at most as many as the chunk has events.
using CodeColumn = std::array<std::uint8_t, max_events_per_chunk>;

}  // namespace heapwright::trace
