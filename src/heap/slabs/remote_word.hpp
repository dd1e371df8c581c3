// SPDX-License-Identifier: MIT
// What other threads do to a slab: one 64-bit word, changed by
// compare-and-swap only.
//
//   bits  0..19  head: 1 + offset / 8 of the last block freed, 0: none
//   bits 20..33  count: blocks in the list, linked by Block
//   bits 34..47  notify_at: the count at which the owner is to be told
//   bit  48      armed: it is to be told
//
// Whoever takes the armed bit away (a remote free that reaches notify_at, or
// the owner) has the duty of telling, or the certainty that nobody will tell.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

struct RemoteWord {
  std::uint64_t bits;

  static constexpr int count_shift = 20;
  static constexpr int notify_shift = 34;
  static constexpr std::uint64_t head_mask = (std::uint64_t{1} << count_shift) - 1;
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << 14) - 1;
  static constexpr std::uint64_t armed_bit = std::uint64_t{1} << 48;

  constexpr std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(bits >> count_shift & count_mask);
  }
  constexpr std::uint32_t notify_at() const noexcept {
    return static_cast<std::uint32_t>(bits >> notify_shift & count_mask);
  }
  constexpr bool has_blocks() const noexcept { return (bits & head_mask) != 0; }
  constexpr std::size_t head_offset() const noexcept { return ((bits & head_mask) - 1) * 8; }
  constexpr bool is_armed() const noexcept { return (bits & armed_bit) != 0; }

  // With one more block in front; disarmed if that reaches notify_at.
  constexpr RemoteWord pushed(std::size_t offset) const noexcept {
    const std::uint64_t counted = (bits & ~head_mask) + (std::uint64_t{1} << count_shift);
    RemoteWord next{counted | (offset / 8 + 1)};
    if (next.is_armed() && next.count() >= next.notify_at()) next.bits &= ~armed_bit;
    return next;
  }
  constexpr RemoteWord armed_for(std::uint32_t notify_count) const noexcept {
    const std::uint64_t kept = bits & ~(count_mask << notify_shift);
    return {kept | std::uint64_t{notify_count} << notify_shift | armed_bit};
  }
  // An empty word with a list of `count`; armed as before.
  constexpr RemoteWord filled(std::size_t offset, std::uint32_t count) const noexcept {
    return {bits | (offset / 8 + 1) | std::uint64_t{count} << count_shift};
  }
  // Without the list; armed as before.
  constexpr RemoteWord emptied() const noexcept { return {bits & ~(head_mask | count_mask << count_shift)}; }
};

}  // namespace heapwright::heap
