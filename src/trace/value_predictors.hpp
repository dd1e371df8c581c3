// SPDX-License-Identifier: MIT
// Predictors for stacks and sizes. Encoder and decoder run the same tables
// over the same values, so a byte that says "as predicted" is enough most of
// the time. Each class has encode() and decode() side by side: they must
// touch the tables in the same way, or every trace becomes unreadable.
//
// A predictor starts anew in each chunk, so that chunks decode on their own.
#pragma once

#include <array>
#include <cstdint>

#include "base/hashing.hpp"
#include "base/varint.hpp"
#include "trace/event_kind.hpp"

namespace heapwright::trace {

inline constexpr std::uint8_t code_predicted = 0;
inline constexpr std::uint8_t code_wide = 255;
inline constexpr std::uint32_t recent_slots = 254;  // codes 1..254

// The stack that followed the last time the same kind came after the same
// stack; else one of 254 recent stacks; else its distance to the last such.
class StackPredictor {
 public:
  void reset() noexcept {
    following_.fill(0);
    recent_.fill(0);
    previous_ = 0;
    last_wide_ = 0;
  }

  std::uint8_t encode(EventKind kind, std::uint32_t stack, std::uint8_t*& wide) noexcept {
    std::uint32_t& expected = following_[slot_of(kind)];
    if (stack != 0) previous_ = stack;
    if (expected == stack) return code_predicted;
    expected = stack;
    const std::uint32_t slot = base::hash_to_limit(stack, recent_slots);
    if (recent_[slot] == stack) return static_cast<std::uint8_t>(slot + 1);
    recent_[slot] = stack;
    wide = base::put_varint(wide, base::zigzag_encode(static_cast<std::int64_t>(stack) - last_wide_));
    last_wide_ = stack;
    return code_wide;
  }

  std::uint32_t decode(EventKind kind, std::uint8_t code, base::ByteSource& wide) noexcept {
    std::uint32_t& expected = following_[slot_of(kind)];
    if (code != code_predicted) expected = other(code, wide);
    if (expected != 0) previous_ = expected;
    return expected;
  }

 private:
  static constexpr unsigned table_bits = 11;

  std::uint32_t slot_of(EventKind kind) const noexcept {
    return base::hash_to_bits((static_cast<std::uint64_t>(previous_) << 8U) | static_cast<std::uint8_t>(kind),
                              table_bits);
  }

  std::uint32_t other(std::uint8_t code, base::ByteSource& wide) noexcept {
    if (code != code_wide) return recent_[code - 1U];
    const auto stack = static_cast<std::uint32_t>(static_cast<std::uint64_t>(last_wide_) +
                                                  static_cast<std::uint64_t>(wide.signed_varint()));
    recent_[base::hash_to_limit(stack, recent_slots)] = stack;
    last_wide_ = stack;
    return stack;
  }

  std::array<std::uint32_t, 1U << table_bits> following_;
  std::array<std::uint32_t, recent_slots> recent_;
  std::uint32_t previous_;
  std::int64_t last_wide_;
};

// The last size seen with this stack; else one of 254 recent sizes; else the
// size itself.
class SizePredictor {
 public:
  void reset() noexcept {
    of_stack_.fill(0);
    recent_.fill(0);
  }

  std::uint8_t encode(std::uint32_t stack, std::uint64_t size, std::uint8_t*& wide) noexcept {
    std::uint64_t& expected = of_stack_[base::hash_to_bits(stack, table_bits)];
    if (expected == size) return code_predicted;
    expected = size;
    const std::uint32_t slot = base::hash_to_limit(size, recent_slots);
    if (recent_[slot] == size) return static_cast<std::uint8_t>(slot + 1);
    recent_[slot] = size;
    wide = base::put_varint(wide, size);
    return code_wide;
  }

  std::uint64_t decode(std::uint32_t stack, std::uint8_t code, base::ByteSource& wide) noexcept {
    std::uint64_t& expected = of_stack_[base::hash_to_bits(stack, table_bits)];
    if (code == code_predicted) return expected;
    if (code != code_wide) return expected = recent_[code - 1U];
    expected = wide.varint();
    recent_[base::hash_to_limit(expected, recent_slots)] = expected;
    return expected;
  }

 private:
  static constexpr unsigned table_bits = 11;
  std::array<std::uint64_t, 1U << table_bits> of_stack_;
  std::array<std::uint64_t, recent_slots> recent_;
};

// The usable size that came with this requested size; for a size not seen
// yet, the same excess as the last size with equal low bits.
class UsablePredictor {
 public:
  void reset() noexcept {
    entries_.fill({});
    excess_.fill(0);
  }

  std::uint8_t encode(std::uint64_t size, std::uint64_t usable, std::uint8_t*& wide) noexcept {
    const std::uint64_t expected = predict(size);
    learn(size, usable);
    if (usable == expected) return code_predicted;
    if (usable == 0) return code_none;
    wide = base::put_varint(wide, base::zigzag_encode(static_cast<std::int64_t>(usable - expected)));
    return code_wide;
  }

  std::uint64_t decode(std::uint64_t size, std::uint8_t code, base::ByteSource& wide) noexcept {
    const std::uint64_t expected = predict(size);
    std::uint64_t usable = expected;
    if (code == code_none) usable = 0;
    if (code == code_wide) usable += static_cast<std::uint64_t>(wide.signed_varint());
    learn(size, usable);
    return usable;
  }

 private:
  static constexpr unsigned table_bits = 9;
  static constexpr std::uint8_t code_none = 1;
  struct Entry {
    std::uint64_t size = 0;
    std::uint64_t usable = 0;
  };

  std::uint64_t predict(std::uint64_t size) const noexcept {
    const Entry& entry = entries_[base::hash_to_bits(size, table_bits)];
    return entry.size == size && entry.usable != 0 ? entry.usable : size + excess_[size % excess_.size()];
  }

  void learn(std::uint64_t size, std::uint64_t usable) noexcept {
    if (usable == 0) return;
    entries_[base::hash_to_bits(size, table_bits)] = {size, usable};
    excess_[size % excess_.size()] = usable - size;
  }

  std::array<Entry, 1U << table_bits> entries_;
  std::array<std::uint64_t, 16> excess_;
};

}  // namespace heapwright::trace
