// SPDX-License-Identifier: MIT
// Predictors for stacks and sizes. Encoder and decoder run the same tables over the same values, so most of
// the time a byte that says "as predicted" is enough. Each class has encode() and decode() side by side: they
// must update the tables in the same way, or every trace becomes unreadable.
//
// A predictor is reset for each chunk, so that chunks decode independently.
#pragma once

#include <array>
#include <cstdint>

#include "base/byte_sink.hpp"
#include "base/hashing.hpp"
#include "base/varint.hpp"
#include "trace/event_kind.hpp"

namespace heapwright::trace {

inline constexpr std::uint8_t code_predicted = 0;
inline constexpr std::uint8_t code_wide = 255;
inline constexpr std::uint32_t recent_slots = 254;  // codes 1..254

// The stack that came last when the same kind followed the same stack; else one of 254 recent stacks; else
// its distance to the last such.
class StackPredictor {
 public:
  // State carried from event to event in one pass over a chunk. Separate from the tables so that a loop keeps
  // it in registers.
  struct Position {
    std::uint32_t previous = 0;  // last stack that was not 0
    std::uint32_t last_wide = 0;
    std::uint32_t largest = 0;  // of all decoded stacks: each stack is wide once
  };

  void reset() noexcept {
    following_.fill(0);
    recent_.fill(0);
  }

  std::uint8_t encode(EventKind kind, std::uint32_t stack, Position& at, base::ByteSink& wide) {
    std::uint32_t& expected = following_[slot_of(at.previous, kind)];
    if (stack != 0) at.previous = stack;
    if (expected == stack) return code_predicted;
    expected = stack;
    const std::uint32_t slot = base::hash_to_limit(stack, recent_slots);
    if (recent_[slot] == stack) return static_cast<std::uint8_t>(slot + 1);
    recent_[slot] = stack;
    wide.put_signed(static_cast<std::int32_t>(stack - at.last_wide));
    at.last_wide = stack;
    return code_wide;
  }

  std::uint32_t decode(EventKind kind, std::uint8_t code, Position& at, base::ByteSource& wide) noexcept {
    std::uint32_t& expected = following_[slot_of(at.previous, kind)];
    if (code != code_predicted) [[unlikely]] {
      expected = unpredicted(code, at, wide);
    }
    if (expected != 0) at.previous = expected;
    return expected;
  }

 private:
  static constexpr unsigned table_bits = 11;

  // Stack ids are dense: their low bits are as good as a hash, and faster.
  static std::uint32_t slot_of(std::uint32_t previous, EventKind kind) noexcept {
    return (previous ^ (static_cast<std::uint32_t>(kind) << 5U)) & ((1U << table_bits) - 1U);
  }

  std::uint32_t unpredicted(std::uint8_t code, Position& at, base::ByteSource& wide) noexcept {
    if (code != code_wide) return recent_[code - 1U];
    const std::uint32_t stack = at.last_wide + static_cast<std::uint32_t>(wide.signed_varint());
    recent_[base::hash_to_limit(stack, recent_slots)] = stack;
    at.last_wide = stack;
    if (stack > at.largest) at.largest = stack;
    return stack;
  }

  std::array<std::uint32_t, 1U << table_bits> following_;
  std::array<std::uint32_t, recent_slots> recent_;
};

// The size seen last with this stack; else one of 254 recent sizes; else the
// size itself. The usable size that came with this size last time; for a size
// not seen yet, the same excess as the last such size with equal low bits.
class SizePredictor {
 public:
  struct Sizes {
    std::uint64_t size = 0;
    std::uint64_t usable = 0;
    bool operator==(const Sizes&) const = default;
  };
  struct Codes {
    std::uint8_t size = code_predicted;
    std::uint8_t usable = code_predicted;
  };

  void reset() noexcept {
    of_stack_.fill({});
    recent_.fill(0);
    of_size_.fill({});
    excess_.fill(0);
  }

  Codes encode(std::uint32_t stack, Sizes sizes, base::ByteSink& size_wide, base::ByteSink& usable_wide) {
    Sizes& last = of_stack_[slot_of(stack)];
    if (last == sizes) return {};
    Codes codes;
    std::uint64_t expected = last.usable;
    if (last.size != sizes.size) {
      codes.size = encode_size(sizes.size, size_wide);
      expected = usable_of(sizes.size);
    }
    codes.usable = encode_usable(sizes.usable, expected, usable_wide);
    learn(sizes);
    last = sizes;
    return codes;
  }

  Sizes decode(std::uint32_t stack, Codes codes, base::ByteSource& size_wide,
               base::ByteSource& usable_wide) noexcept {
    Sizes& last = of_stack_[slot_of(stack)];
    if (codes.size == code_predicted && codes.usable == code_predicted) [[likely]] {
      return last;
    }
    Sizes sizes = last;
    if (codes.size != code_predicted) {
      sizes.size = decode_size(codes.size, size_wide);
      sizes.usable = usable_of(sizes.size);
    }
    if (codes.usable == code_none) sizes.usable = 0;
    if (codes.usable == code_wide) sizes.usable += static_cast<std::uint64_t>(usable_wide.signed_varint());
    learn(sizes);
    last = sizes;
    return sizes;
  }

 private:
  static constexpr unsigned stack_bits = 10;
  static constexpr unsigned size_bits = 9;
  static constexpr std::uint8_t code_none = 1;  // usable: 0

  static std::uint32_t slot_of(std::uint32_t stack) noexcept { return stack & ((1U << stack_bits) - 1U); }

  std::uint8_t encode_size(std::uint64_t size, base::ByteSink& wide) {
    const std::uint32_t slot = base::hash_to_limit(size, recent_slots);
    if (recent_[slot] == size) return static_cast<std::uint8_t>(slot + 1);
    recent_[slot] = size;
    wide.put(size);
    return code_wide;
  }

  std::uint64_t decode_size(std::uint8_t code, base::ByteSource& wide) noexcept {
    if (code != code_wide) return recent_[code - 1U];
    const std::uint64_t size = wide.varint();
    recent_[base::hash_to_limit(size, recent_slots)] = size;
    return size;
  }

  static std::uint8_t encode_usable(std::uint64_t usable, std::uint64_t expected, base::ByteSink& wide) {
    if (usable == expected) return code_predicted;
    if (usable == 0) return code_none;
    wide.put_signed(static_cast<std::int64_t>(usable - expected));
    return code_wide;
  }

  std::uint64_t usable_of(std::uint64_t size) const noexcept {
    const Sizes& entry = of_size_[base::hash_to_bits(size, size_bits)];
    return entry.size == size && entry.usable != 0 ? entry.usable : size + excess_[size % excess_.size()];
  }

  void learn(Sizes sizes) noexcept {
    if (sizes.usable == 0) return;
    of_size_[base::hash_to_bits(sizes.size, size_bits)] = sizes;
    excess_[sizes.size % excess_.size()] = sizes.usable - sizes.size;
  }

  std::array<Sizes, 1U << stack_bits> of_stack_;
  std::array<std::uint64_t, recent_slots> recent_;
  std::array<Sizes, 1U << size_bits> of_size_;
  std::array<std::uint64_t, 16> excess_;
};

}  // namespace heapwright::trace
