// SPDX-License-Identifier: MIT
// Hardened mode: the last 8 bytes of a slab's block hold its requested size and alignment and whether it was
// freed, encoded with a process key and the block's address. A block that was never allocated has zeros
// there. A free one holds zeros and its record, plus a link if it is in a list.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

inline constexpr std::size_t record_bytes = 8;
inline constexpr std::uint64_t freed_bit = std::uint64_t{1} << 63;
inline constexpr std::size_t default_alignment = 16;
// Six bits: the alignment is the default one, shifted. They are not in the last byte, which a write at index
// -1 of the next block changes.
inline constexpr int alignment_place = 48;
inline constexpr std::uint64_t alignment_bits = std::uint64_t{63} << alignment_place;

// The alignment is a power of two and at least the default.
constexpr std::uint64_t record_of(std::size_t bytes, std::size_t alignment) noexcept {
  const int shift = std::countr_zero(alignment) - std::countr_zero(default_alignment);
  return bytes | static_cast<std::uint64_t>(shift) << alignment_place;
}
constexpr std::size_t bytes_in(std::uint64_t value) noexcept { return value & ~(freed_bit | alignment_bits); }
// 0 if the bits encode no alignment.
constexpr std::size_t alignment_in(std::uint64_t value) noexcept {
  return default_alignment << ((value & alignment_bits) >> alignment_place);
}

extern std::uint64_t seal_key;
// Once, before the first block.
void draw_seal_key() noexcept;

// The record of a block of `usable_bytes`, which include it.
class SealedRecord {
 public:
  SealedRecord(char* begin, std::size_t usable_bytes) noexcept
      : place_(reinterpret_cast<std::uint64_t*>(begin + usable_bytes - record_bytes)),
        seal_(seal_key ^ reinterpret_cast<std::uintptr_t>(begin)),
        room_(usable_bytes - record_bytes) {}

  // The encoded value: 0 if the block was never allocated. Atomic, because threads read
  // neighbours that they do not own.
  std::uint64_t raw() const noexcept { return __atomic_load_n(place_, __ATOMIC_RELAXED); }
  std::uint64_t value_of(std::uint64_t raw) const noexcept { return raw ^ seal_; }
  std::uint64_t value() const noexcept { return value_of(raw()); }
  // Whether the size fits the block and the block has the alignment, freed or not.
  bool is_intact(std::uint64_t value) const noexcept {
    const std::uint64_t made = value & ~freed_bit;
    if (made <= room_) return true;  // default alignment, as in nearly all blocks
    const std::uintptr_t begin = seal_ ^ seal_key;
    return bytes_in(made) <= room_ && (begin & (alignment_in(made) - 1)) == 0;
  }
  bool is_plausible() const noexcept {
    const std::uint64_t now = raw();
    return now == 0 || is_intact(now ^ seal_);
  }
  bool is_freed() const noexcept { return is_intact(value()) && (value() & freed_bit) != 0; }
  void write(std::uint64_t value) noexcept { __atomic_store_n(place_, value ^ seal_, __ATOMIC_RELAXED); }
  // False: another thread changed it first.
  bool change(std::uint64_t from, std::uint64_t to) noexcept {
    std::uint64_t expected = from ^ seal_;
    return __atomic_compare_exchange_n(place_, &expected, to ^ seal_, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
  }

 private:
  std::uint64_t* place_;
  std::uint64_t seal_;
  std::size_t room_;
};

}  // namespace heapwright::heap
