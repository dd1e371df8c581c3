// SPDX-License-Identifier: MIT
// The chunks that the collector has begun, at most one per lane. Their number is limited because they are
// most of its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "trace/encode_events.hpp"

namespace heapwright::collect {

class EncoderPool {
 public:
  // An encoder whose chunk begins at or after `floor_ns`. It may exceed the limit of has_room() by one: then
  // is_over() holds, and it must be returned soon.
  std::unique_ptr<trace::EventEncoder> take(std::uint64_t floor_ns) {
    std::unique_ptr<trace::EventEncoder> encoder;
    if (idle_.empty()) {
      encoder = std::make_unique<trace::EventEncoder>();
    } else {
      encoder = std::move(idle_.back());
      idle_.pop_back();
    }
    encoder->start(floor_ns);
    ++used_;
    return encoder;
  }

  void give_back(std::unique_ptr<trace::EventEncoder> encoder) {
    --used_;
    if (idle_.size() < most_idle) idle_.push_back(std::move(encoder));
  }

  bool has_room() const noexcept { return used_ < most_used; }
  bool is_over() const noexcept { return used_ > most_used; }

 private:
  // About 20 MB. Only large machines have more threads than this writing at once.
  static constexpr std::uint32_t most_used = 16;
  static constexpr std::size_t most_idle = most_used;

  std::vector<std::unique_ptr<trace::EventEncoder>> idle_;
  std::uint32_t used_ = 0;
};

}  // namespace heapwright::collect
