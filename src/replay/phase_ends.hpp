// SPDX-License-Identifier: MIT
// The phases that threads end: an annotation is one row; its name follows in rows of 16 bytes each
// (trace/event.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "replay/rows.hpp"

namespace heapwright::replay {

class PhaseEnds {
 public:
  explicit PhaseEnds(std::size_t lanes) : names_(lanes), state_(lanes) {}

  // The lane's next row, if it belongs to an annotation.
  void add(std::uint32_t lane, const Row& row) {
    if (row.kind != trace::EventKind::annotation_text) {
      state_[lane] = row.kind == trace::EventKind::phase_end ? State::open : State::none;
      names_[lane].clear();
      return;
    }
    if (state_[lane] != State::open) return;
    std::array<char, 16> piece{};
    std::memcpy(piece.data(), &row.size, sizeof(row.size));
    std::memcpy(piece.data() + sizeof(row.size), &row.address, sizeof(row.address));
    const auto* const end = std::find(piece.cbegin(), piece.cend(), '\0');
    names_[lane].append(piece.cbegin(), end);
    if (end != piece.cend()) state_[lane] = State::whole;
  }

  // Its name is complete. If the last piece is full, that is known only when the lane does something else.
  bool is_whole(std::uint32_t lane) const noexcept { return state_[lane] == State::whole; }
  // There is a name.
  bool has_name(std::uint32_t lane) const noexcept {
    return state_[lane] != State::none && !names_[lane].empty();
  }

  std::string take(std::uint32_t lane) {
    state_[lane] = State::none;
    return std::exchange(names_[lane], {});
  }

 private:
  // State of the lane's last phase end.
  enum class State : std::uint8_t { none, open, whole };

  std::vector<std::string> names_;  // by lane
  std::vector<State> state_;
};

}  // namespace heapwright::replay
