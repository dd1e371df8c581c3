// SPDX-License-Identifier: MIT
// The cross-thread frees of a slab: one 64-bit word, changed only by compare-and-swap.
//
//   bits  0..19  head: 1 + offset / 8 of the block freed last; 0: none
//   bits 20..33  count: blocks in the list, linked by Block
//   bits 34..47  notify_at: the count at which the owner gets a notice
//   bit  48      armed: a notice is wanted
//
// A remote free that reaches notify_at clears the armed bit and must send the notice. If
// the owner clears it, no notice will come.
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

  // With one more block in front; disarmed if the count reaches notify_at.
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
  // With a list of `count`, for an empty word; armed as before.
  constexpr RemoteWord filled(std::size_t offset, std::uint32_t count) const noexcept {
    return {bits | (offset / 8 + 1) | std::uint64_t{count} << count_shift};
  }
  // Without the list; armed as before.
  constexpr RemoteWord emptied() const noexcept { return {bits & ~(head_mask | count_mask << count_shift)}; }
};

}  // namespace heapwright::heap
