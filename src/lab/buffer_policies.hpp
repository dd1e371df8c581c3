// SPDX-License-Identifier: MIT
// The caches of the buffer-cache experiment: where callers get buffers from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "lab/options.hpp"

namespace heapwright::lab {

struct CachedBuffer {
  void* memory = nullptr;
  std::size_t size_bytes = 0;
};

enum class BufferPolicy { none, flawed, cutoff, bucketed };

// none: every buffer is allocated from the heap and freed.
// flawed: any cached buffer that is large enough is returned; of the freed buffer and the smallest cached
//   one, the larger is kept.
// cutoff: buffers above `cutoff_bytes` are never cached; a full cache frees the buffer that was just
//   returned to it, whatever its size.
// bucketed: like cutoff, without its limit, but a buffer is returned only for a request of more than half
//   its size.
class BufferSource {
 public:
  static constexpr std::size_t max_entries = 16;

  BufferSource(BufferPolicy policy, std::size_t entries, std::size_t cutoff_bytes)
      : policy_(policy), entries_(policy == BufferPolicy::none ? 0 : entries), cutoff_bytes_(cutoff_bytes) {
    if (entries > max_entries) figures::refuse("--entries takes up to %zu", max_entries);
  }

  // The buffer's size is at least `needed_bytes`.
  CachedBuffer take(std::size_t needed_bytes) {
    for (std::size_t i = 0; i < entries_; ++i) {
      if (!fits(cached_[i], needed_bytes)) continue;
      ++hits_;
      return std::exchange(cached_[i], {});
    }
    void* memory = std::malloc(needed_bytes);
    if (memory == nullptr) figures::give_up("malloc(%zu) failed", needed_bytes);
    return {memory, needed_bytes};
  }

  void give_back(CachedBuffer buffer) noexcept {
    const bool is_cacheable = policy_ != BufferPolicy::cutoff || buffer.size_bytes <= cutoff_bytes_;
    CachedBuffer* entry = is_cacheable ? entry_for(buffer) : nullptr;
    if (entry != nullptr) std::swap(*entry, buffer);
    std::free(buffer.memory);
  }

  std::uint64_t hits() const noexcept { return hits_; }
  std::size_t cached_bytes() const noexcept {
    std::size_t sum = 0;
    for (const CachedBuffer& buffer : cached_) sum += buffer.size_bytes;
    return sum;
  }

 private:
  bool fits(const CachedBuffer& buffer, std::size_t needed_bytes) const noexcept {
    if (buffer.memory == nullptr || buffer.size_bytes < needed_bytes) return false;
    return policy_ != BufferPolicy::bucketed || buffer.size_bytes / 2 < needed_bytes;
  }

  // Where to put the buffer; null if it is to be freed.
  CachedBuffer* entry_for(const CachedBuffer& buffer) noexcept {
    CachedBuffer* smallest = nullptr;
    for (std::size_t i = 0; i < entries_; ++i) {
      if (cached_[i].memory == nullptr) return &cached_[i];
      if (smallest == nullptr || cached_[i].size_bytes < smallest->size_bytes) smallest = &cached_[i];
    }
    const bool keeps_larger = policy_ == BufferPolicy::flawed && smallest != nullptr;
    return keeps_larger && smallest->size_bytes < buffer.size_bytes ? smallest : nullptr;
  }

  BufferPolicy policy_;
  std::size_t entries_;
  std::size_t cutoff_bytes_;
  std::array<CachedBuffer, max_entries> cached_{};
  std::uint64_t hits_ = 0;
};

}  // namespace heapwright::lab
