// SPDX-License-Identifier: MIT
// heapwright's buffer_cache as a source of the buffer-cache experiment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heapwright/buffer_cache.hpp"
#include "lab/buffer_policies.hpp"

namespace heapwright::lab {

class OwnBufferSource {
 public:
  // As many entries as in real use, but small compared to what callers hold.
  static constexpr cache_limits limits{.total_bytes = 65536, .buffers = 8};

  CachedBuffer take(std::size_t needed_bytes) {
    std::byte* memory = cache_.allocate(needed_bytes);
    return {memory, cache_.capacity_of(memory)};
  }
  void give_back(const CachedBuffer& buffer) noexcept {
    cache_.release(static_cast<std::byte*>(buffer.memory));
  }
  std::uint64_t hits() const noexcept { return cache_.counters().hits; }
  std::size_t cached_bytes() const noexcept { return cache_.counters().retained_bytes; }

 private:
  buffer_cache<> cache_{limits};
};

}  // namespace heapwright::lab
