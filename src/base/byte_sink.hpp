// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/varint.hpp"

namespace heapwright::base {

// Appends bytes and varints; the counterpart of ByteSource. clear() keeps the memory.
class ByteSink {
 public:
  void clear() noexcept { end_ = begin(); }
  std::span<const std::uint8_t> bytes() const noexcept { return {begin(), end_}; }

  void put(std::uint64_t value) {
    if (limit_ - end_ < static_cast<std::ptrdiff_t>(max_varint_bytes)) [[unlikely]] {
      grow(max_varint_bytes);
    }
    end_ = put_varint(end_, value);
  }
  void put_signed(std::int64_t value) { put(zigzag_encode(value)); }
  void put_byte(std::uint8_t value) {
    if (end_ == limit_) [[unlikely]] {
      grow(1);
    }
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

}  // namespace heapwright::base
