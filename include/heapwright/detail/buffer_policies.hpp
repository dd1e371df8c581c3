// SPDX-License-Identifier: MIT
// Policies of buffer_cache to compare with the default: one with a manually chosen
// cutoff, one after a published description, and a flawed one. learnt_cutoff.hpp
// describes their concept.
#ifndef HEAPWRIGHT_DETAIL_BUFFER_POLICIES_HPP
#define HEAPWRIGHT_DETAIL_BUFFER_POLICIES_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/learnt_cutoff.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

namespace detail {

// A short unsorted list of blocks, used by the simple policies.
class block_list {
 public:
  explicit block_list(cache_limits limits) : limits_(limits) { blocks_.reserve(limits.buffers); }
  bool is_full_for(std::size_t bytes) const noexcept {
    return blocks_.size() >= limits_.buffers || bytes > limits_.total_bytes - counters.retained_bytes;
  }
  void add(cached_block* block) {
    blocks_.push_back(block);
    counters.retained_bytes += block->capacity;
    counters.retained_buffers = blocks_.size();
  }
  cached_block* take_at(std::size_t index) noexcept {
    cached_block* block = std::exchange(blocks_[index], blocks_.back());
    blocks_.pop_back();
    counters.retained_bytes -= block->capacity;
    counters.retained_buffers = blocks_.size();
    return block;
  }
  cached_block* take_first_fit(std::size_t request) noexcept {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (capacity_at(i) < request) continue;
      ++counters.hits;
      return take_at(i);
    }
    ++counters.misses;
    return nullptr;
  }
  std::size_t smallest() const noexcept {
    std::size_t index = 0;
    for (std::size_t i = 1; i < blocks_.size(); ++i) {
      if (capacity_at(i) < capacity_at(index)) index = i;
    }
    return index;
  }
  std::size_t size() const noexcept { return blocks_.size(); }
  std::size_t capacity_at(std::size_t index) const noexcept { return blocks_[index]->capacity; }
  template <class Drop>
  void drain(Drop drop) {
    while (!blocks_.empty()) drop(take_at(blocks_.size() - 1));
  }

  cache_counters counters;

 private:
  cache_limits limits_;
  std::vector<cached_block*> blocks_;
};

// The base of the simple policies.
class listing_policy {
 public:
  explicit listing_policy(cache_limits limits) : list_(limits) {}
  static constexpr std::size_t capacity_for(std::size_t request) noexcept {
    return std::max<std::size_t>(request, 1);
  }
  template <class Drop>
  void drain(Drop drop) {
    list_.drain(drop);
  }
  const cache_counters& counters() const noexcept { return list_.counters; }

 protected:
  block_list list_;
};

}  // namespace detail

// For study: a policy that turns a cache into a leak. A full cache keeps the
// larger of its smallest block and the released one, and hands out any block that
// is large enough.
class keep_the_larger : public detail::listing_policy {
 public:
  using listing_policy::listing_policy;
  template <class Drop>
  cached_block* take(std::size_t request, Drop) {
    return list_.take_first_fit(request);
  }
  template <class Drop>
  void give(cached_block* block, std::size_t, Drop drop) {
    if (!list_.is_full_for(block->capacity)) return list_.add(block);
    ++list_.counters.dropped_full;
    if (list_.size() == 0 || list_.capacity_at(list_.smallest()) >= block->capacity) return drop(block);
    drop(list_.take_at(list_.smallest()));
    list_.is_full_for(block->capacity) ? drop(block) : list_.add(block);
  }
};

// A manually chosen cutoff: blocks above it are never kept, and a full cache frees
// each released block.
template <std::size_t CutoffBytes>
class fixed_cutoff : public detail::listing_policy {
  static_assert(CutoffBytes != 0, "a cutoff of zero keeps nothing");

 public:
  using listing_policy::listing_policy;
  template <class Drop>
  cached_block* take(std::size_t request, Drop) {
    return list_.take_first_fit(request);
  }
  template <class Drop>
  void give(cached_block* block, std::size_t, Drop drop) {
    const bool is_too_large = block->capacity > CutoffBytes;
    if (!is_too_large && !list_.is_full_for(block->capacity)) return list_.add(block);
    ++(is_too_large ? list_.counters.refused_too_large : list_.counters.dropped_full);
    drop(block);
  }
};

// For comparison: a pool calibrated every 42,000 returns, after the published
// description of Go's bytebufferpool. Twenty power-of-two buckets from 64
// bytes count the sizes used; the most frequent bucket becomes the size of new
// buffers, the largest among those that make up 95 % becomes the cutoff. Any
// pooled buffer is handed out; one that is too small is replaced, as a miss.
class calibrated_pool : public detail::listing_policy {
 public:
  using listing_policy::listing_policy;
  template <class Drop>
  cached_block* take(std::size_t request, Drop drop) {
    if (list_.size() != 0) {
      cached_block* block = list_.take_at(list_.size() - 1);
      if (block->capacity >= request) {
        ++list_.counters.hits;
        return block;
      }
      drop(block);
    }
    ++list_.counters.misses;
    return nullptr;
  }
  template <class Drop>
  void give(cached_block* block, std::size_t used, Drop drop) {
    ++calls_[bucket_of(used != 0 ? used : block->capacity)];
    if (++returns_ % calibrate_after == 0) calibrate();
    const bool is_too_large = largest_ != 0 && block->capacity > largest_;
    if (!is_too_large && !list_.is_full_for(block->capacity)) return list_.add(block);
    ++(is_too_large ? list_.counters.refused_too_large : list_.counters.dropped_full);
    drop(block);
  }
  std::size_t capacity_for(std::size_t request) const noexcept {
    return std::max({request, usual_, std::size_t{1}});
  }

 private:
  static constexpr std::size_t bucket_count = 20;
  static constexpr std::uint64_t calibrate_after = 42000;

  static std::size_t bucket_of(std::size_t bytes) noexcept {
    const std::size_t units = (bytes - (bytes != 0)) >> 6;
    return std::min<std::size_t>(std::bit_width(units), bucket_count - 1);
  }
  void calibrate() noexcept {
    std::array<std::size_t, bucket_count> order{};
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < bucket_count; ++i) {
      order[i] = i;
      sum += calls_[i];
    }
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return calls_[a] > calls_[b]; });
    usual_ = std::size_t{64} << order[0];
    largest_ = usual_;
    std::uint64_t covered = 0;
    for (const std::size_t index : order) {
      if (covered > sum / 100 * 95) break;
      covered += calls_[index];
      largest_ = std::max(largest_, std::size_t{64} << index);
    }
    calls_.fill(0);
  }

  std::array<std::uint64_t, bucket_count> calls_{};
  std::uint64_t returns_ = 0;
  std::size_t usual_ = 0;
  std::size_t largest_ = 0;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
