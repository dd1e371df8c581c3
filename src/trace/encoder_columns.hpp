// SPDX-License-Identifier: MIT
// What the parts of the encoder share: the facts of a kind and the columns
// they append to.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/varint.hpp"
#include "trace/column.hpp"
#include "trace/writer.hpp"

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

// A column of varints, or of whatever else is seldom there.
class WideColumn {
 public:
  void clear() noexcept { end_ = begin(); }
  std::span<const std::uint8_t> bytes() const noexcept { return {begin(), end_}; }

  void put(std::uint64_t value) {
    if (limit_ - end_ < static_cast<std::ptrdiff_t>(base::max_varint_bytes)) [[unlikely]]
      grow(base::max_varint_bytes);
    end_ = base::put_varint(end_, value);
  }
  void put_signed(std::int64_t value) { put(base::zigzag_encode(value)); }
  void put_byte(std::uint8_t value) {
    if (end_ == limit_) [[unlikely]]
      grow(1);
    *end_++ = value;
  }
  void put_zeros(std::size_t count) {
    grow(count);
    end_ = std::fill_n(end_, count, std::uint8_t{0});
  }

 private:
  std::uint8_t* begin() const noexcept { return memory_.get(); }

  [[gnu::noinline]] void grow(std::size_t bytes) {
    const auto used = static_cast<std::size_t>(end_ - begin());
    const std::size_t capacity = std::max<std::size_t>(256, (used + bytes) * 2);
    auto memory = std::make_unique_for_overwrite<std::uint8_t[]>(capacity);
    std::copy(begin(), end_, memory.get());
    memory_ = std::move(memory);
    end_ = memory_.get() + used;
    limit_ = memory_.get() + capacity;
  }

  std::unique_ptr<std::uint8_t[]> memory_;
  std::uint8_t* end_ = nullptr;
  std::uint8_t* limit_ = nullptr;
};

// A column of codes: one for each event it concerns, in a chunk at most as
// many as the chunk has events.
using CodeColumn = std::array<std::uint8_t, max_events_per_chunk>;

}  // namespace heapwright::trace
