// SPDX-License-Identifier: MIT
// The default policy of buffer_cache, and what all policies share. Each has
//   take(request, drop)       a cached block for the request, or null
//   give(block, used, drop)   keeps or drops the block, may drop others; `used`
//                             is the requested size, 0 if unknown
//   capacity_for(request)     the size to allocate after take() returned null
//   drain(drop), counters()
// The policy calls drop(block) for each block it gives up.
#ifndef HEAPWRIGHT_DETAIL_LEARNT_CUTOFF_HPP
#define HEAPWRIGHT_DETAIL_LEARNT_CUTOFF_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/decayed_histogram.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

struct cache_limits {
  std::size_t total_bytes;   // of all cached buffers; not zero
  std::size_t buffers = 64;  // number of cached buffers; not zero
};

struct cache_counters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t refused_too_large = 0;  // released above the cutoff
  std::uint64_t refused_wasteful = 0;   // requests that only far larger cached buffers could serve
  std::uint64_t dropped_full = 0;       // released to a full cache
  std::uint64_t aged_out = 0;           // dropped for lack of requests of their size
  std::size_t retained_bytes = 0;
  std::size_t retained_buffers = 0;
};

// A policy's record of a buffer. The cache stores it in front of the bytes.
struct cached_block {
  static constexpr std::uint64_t most_bytes = (std::uint64_t{1} << 47) - 1;  // the user address space
  cached_block(std::uint64_t bytes, std::uint16_t owner_mark) noexcept
      : mark(owner_mark), capacity(bytes & most_bytes) {}
  std::uint64_t mark : 16;  // set by the cache; not written while the buffer is in use
  std::uint64_t capacity : 48;
  cached_block* next = nullptr;  // while a policy holds it
};

// Rounds a request up to 8 bytes, as any heap does.
constexpr std::size_t rounded_request(std::size_t request) noexcept {
  return request > SIZE_MAX - 16 ? request : (std::max<std::size_t>(request, 1) + 7) / 8 * 8;
}

// The largest capacity for a request: a quarter more, or the request rounded up to 8.
constexpr std::size_t waste_bound(std::size_t request) noexcept {
  return std::max(request + request / 4, rounded_request(request));
}

// The default. Blocks are cached in size classes of 12.5 %; a request takes only
// from classes within the waste bound. The admission cutoff is learnt: blocks larger
// than the 99th percentile of recent requests are freed. A full cache frees the
// released block, or one of a size without recent requests. O(1).
class learnt_cutoff {
 public:
  explicit learnt_cutoff(cache_limits limits, double admitted_percentile = 99.0) noexcept
      : limits_(limits), percentile_(admitted_percentile) {}
  learnt_cutoff(const learnt_cutoff&) = delete;
  learnt_cutoff& operator=(const learnt_cutoff&) = delete;

  template <class Drop>
  cached_block* take(std::size_t request, Drop drop) {
    const std::size_t wanted = capacity_for(request);
    const std::size_t first = detail::size_class_of(wanted);
    if (history_.add_to_class(first)) learn(drop);
    last_asked_[first] = epoch_;
    std::size_t index = first;
    cached_block** link = fitting(first, wanted, SIZE_MAX);  // a class is narrower than the waste bound
    if (link == nullptr) link = search_above(request, index);
    if (link == nullptr) {
      ++counters_.misses;
      if (next_used(first + 1) < detail::size_class_count) ++counters_.refused_wasteful;
      return nullptr;
    }
    if (index != first) last_asked_[index] = epoch_;
    ++counters_.hits;
    return unlink(index, link);
  }

  template <class Drop>
  void give(cached_block* block, std::size_t, Drop drop) {
    const std::size_t capacity = block->capacity;
    if (capacity > cutoff_) {
      ++counters_.refused_too_large;
      return drop(block);
    }
    if (is_full_for(capacity)) [[unlikely]] {
      age_out(drop);
    }
    if (is_full_for(capacity)) [[unlikely]] {
      ++counters_.dropped_full;
      return drop(block);
    }
    const std::size_t index = detail::size_class_of(capacity);
    block->next = std::exchange(heads_[index], block);
    if (block->next == nullptr) used_[index / 64] |= std::uint64_t{1} << index % 64;
    counters_.retained_bytes += capacity;
    ++counters_.retained_buffers;
  }

  static constexpr std::size_t capacity_for(std::size_t request) noexcept { return rounded_request(request); }

  template <class Drop>
  void drain(Drop drop) {
    for (std::size_t index = next_used(0); index < detail::size_class_count; index = next_used(index)) {
      drop(unlink(index, &heads_[index]));
    }
  }

  const cache_counters& counters() const noexcept { return counters_; }
  std::size_t cutoff() const noexcept { return cutoff_; }

 private:
  static constexpr std::uint64_t requests_per_epoch = 512;
  static constexpr unsigned tries_per_class = 4;

  bool is_full_for(std::size_t bytes) const noexcept {
    return counters_.retained_buffers >= limits_.buffers ||
           bytes > limits_.total_bytes - counters_.retained_bytes;
  }

  template <class Drop>
  [[gnu::noinline]] void learn(Drop drop) {
    epoch_ = static_cast<std::uint32_t>(history_.samples() / requests_per_epoch);
    cutoff_ = std::max<std::size_t>(history_.percentile(percentile_), 256);
    const std::size_t above = detail::size_class_of(cutoff_) + 1;
    for (std::size_t index = next_used(above); index < detail::size_class_count; index = next_used(index)) {
      drop_head(index, drop);
    }
  }

  // Among the first blocks of a class: the link to one that fits, or null.
  cached_block** fitting(std::size_t index, std::size_t wanted, std::size_t bound) noexcept {
    cached_block** link = &heads_[index];
    for (unsigned i = 0; i < tries_per_class && *link != nullptr; ++i) {
      if ((*link)->capacity >= wanted && (*link)->capacity <= bound) return link;
      link = &(*link)->next;
    }
    return nullptr;
  }
  // As fitting(), in the classes above `index`, which becomes the class found.
  cached_block** search_above(std::size_t request, std::size_t& index) noexcept {
    const std::size_t bound = waste_bound(request);
    for (index = next_used(index + 1); index < detail::size_class_count; index = next_used(index + 1)) {
      if (detail::size_class_lower(index) > bound) return nullptr;
      if (cached_block** link = fitting(index, request, bound)) return link;
    }
    return nullptr;
  }

  cached_block* unlink(std::size_t index, cached_block** link) noexcept {
    cached_block* taken = *link;
    *link = taken->next;
    if (heads_[index] == nullptr) used_[index / 64] &= ~(std::uint64_t{1} << index % 64);
    counters_.retained_bytes -= taken->capacity;
    --counters_.retained_buffers;
    return taken;
  }

  // The first nonempty class from this one on.
  std::size_t next_used(std::size_t from) const noexcept {
    for (std::size_t word = from / 64; word < used_.size(); ++word) {
      const std::uint64_t bits = used_[word] >> (word == from / 64 ? from % 64 : 0);
      if (bits != 0) {
        return (word == from / 64 ? from : word * 64) + static_cast<std::size_t>(std::countr_zero(bits));
      }
    }
    return detail::size_class_count;
  }

  // Drops one block of a class without requests for two epochs.
  template <class Drop>
  [[gnu::noinline]] void age_out(Drop drop) {
    for (std::size_t index = next_used(0); index < detail::size_class_count; index = next_used(index + 1)) {
      if (last_asked_[index] + 2 < epoch_) return drop_head(index, drop);
    }
  }
  template <class Drop>
  void drop_head(std::size_t index, Drop drop) {
    ++counters_.aged_out;
    drop(unlink(index, &heads_[index]));
  }

  cache_limits limits_;
  double percentile_;
  cache_counters counters_;
  std::size_t cutoff_ = 256;
  std::uint32_t epoch_ = 0;
  std::array<std::uint64_t, (detail::size_class_count + 63) / 64> used_{};
  std::array<cached_block*, detail::size_class_count> heads_{};
  std::array<std::uint32_t, detail::size_class_count> last_asked_{};
  detail::decayed_histogram history_{2048};
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
