// SPDX-License-Identifier: MIT
// length: four policies of one concept, meant to be compared
//
// The policies of buffer_cache. Each has
//   take(request, drop)  a cached block for the request, capacity 0 for none
//   give(block, drop)    keeps the block or drops it (or others)
//   capacity_for(n)      what to allocate when nothing was taken
//   drain(drop), counters()
#ifndef HEAPWRIGHT_DETAIL_BUFFER_POLICIES_HPP
#define HEAPWRIGHT_DETAIL_BUFFER_POLICIES_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "heapwright/detail/decayed_histogram.hpp"

namespace heapwright {

struct cache_limits {
  std::size_t total_bytes;   // of all cached buffers together; not zero
  std::size_t buffers = 64;  // how many; not zero
};

struct cache_counters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t refused_too_large = 0;  // came back above the cutoff
  std::uint64_t refused_wasteful = 0;   // requests for which only far larger buffers were there
  std::uint64_t dropped_full = 0;       // came back to a full cache
  std::uint64_t aged_out = 0;           // dropped because no request of their size came
  std::size_t retained_bytes = 0;
  std::size_t retained_buffers = 0;
};

struct cached_block {
  void* memory = nullptr;
  std::size_t capacity = 0;
  std::size_t used = 0;  // of a block that comes back, where known
};

// The most a request may receive: a quarter or 256 bytes more.
constexpr std::size_t waste_bound(std::size_t request) noexcept {
  return std::max(request + request / 4, request + 256);
}

// The default. Blocks wait in size classes of 12.5 %; a request takes only from
// classes within the waste bound. What is admitted is learnt: blocks larger
// than the 99th percentile of recent requests are freed. A full cache frees
// the block just returned, or one of a size nobody asked for lately. O(1).
class learnt_cutoff {
 public:
  explicit learnt_cutoff(cache_limits limits, double admitted_percentile = 99.0)
      : limits_(limits), percentile_(admitted_percentile), slots_(limits.buffers) {
    heads_.fill(none);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].next = i + 1 < slots_.size() ? static_cast<std::uint32_t>(i + 1) : none;
    }
    free_ = slots_.empty() ? none : 0;
  }

  template <class Drop>
  cached_block take(std::size_t request, Drop drop) {
    learn(request, drop);
    const std::size_t bound = waste_bound(request);
    const std::size_t first = detail::size_class_of(request);
    last_asked_[first] = epoch_;
    cached_block found = take_exact(first, request, bound);
    for (std::size_t index = next_used(first + 1); found.capacity == 0 && index < detail::size_class_count;
         index = next_used(index + 1)) {
      if (detail::size_class_lower(index) > bound) break;
      found = take_exact(index, request, bound);
    }
    if (found.capacity != 0) {
      last_asked_[detail::size_class_of(found.capacity)] = epoch_;
      ++counters_.hits;
      return found;
    }
    ++counters_.misses;
    if (next_used(first + 1) < detail::size_class_count) ++counters_.refused_wasteful;
    return {};
  }

  template <class Drop>
  void give(const cached_block& block, Drop drop) {
    if (block.capacity > cutoff_) {
      ++counters_.refused_too_large;
      return drop(block);
    }
    if (is_full_for(block.capacity)) age_out(drop);
    if (is_full_for(block.capacity)) {
      ++counters_.dropped_full;
      return drop(block);
    }
    const std::size_t index = detail::size_class_of(block.capacity);
    const std::uint32_t taken = std::exchange(free_, slots_[free_].next);
    slots_[taken] = {block, heads_[index]};
    heads_[index] = taken;
    used_[index / 64] |= std::uint64_t{1} << index % 64;
    counters_.retained_bytes += block.capacity;
    ++counters_.retained_buffers;
  }

  // Requests are rounded to what a heap gives anyway.
  static constexpr std::size_t capacity_for(std::size_t request) noexcept {
    return request > SIZE_MAX - 16 ? request : (std::max<std::size_t>(request, 1) + 7) / 8 * 8;
  }

  template <class Drop>
  void drain(Drop drop) {
    for (std::size_t index = 0; index < detail::size_class_count; ++index) {
      while (heads_[index] != none) drop(pop(index));
    }
  }

  const cache_counters& counters() const noexcept { return counters_; }
  std::size_t cutoff() const noexcept { return cutoff_; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::uint64_t requests_per_epoch = 512;
  static constexpr unsigned exact_tries = 4;

  struct slot {
    cached_block block;
    std::uint32_t next = none;
  };

  bool is_full_for(std::size_t bytes) const noexcept {
    return free_ == none || bytes > limits_.total_bytes - counters_.retained_bytes;
  }

  template <class Drop>
  void learn(std::size_t request, Drop drop) {
    history_.add(capacity_for(request));
    if (++requests_ % requests_per_epoch == 0) ++epoch_;
    if (requests_ % 64 != 0 && requests_ > 64) return;
    cutoff_ = std::max<std::size_t>(static_cast<std::size_t>(history_.percentile(percentile_)), 256);
    for (std::size_t index = next_used(detail::size_class_of(cutoff_) + 1); index < detail::size_class_count;
         index = next_used(index + 1)) {
      while (heads_[index] != none) drop(count_aged(pop(index)));
    }
  }

  // Among the first blocks of a class: one that fits.
  cached_block take_exact(std::size_t index, std::size_t request, std::size_t bound) noexcept {
    std::uint32_t* link = &heads_[index];
    for (unsigned i = 0; i < exact_tries && *link != none; ++i) {
      const cached_block block = slots_[*link].block;
      if (block.capacity >= request && block.capacity <= bound) return unlink(index, link);
      link = &slots_[*link].next;
    }
    return {};
  }
  cached_block pop(std::size_t index) noexcept { return unlink(index, &heads_[index]); }
  cached_block unlink(std::size_t index, std::uint32_t* link) noexcept {
    const std::uint32_t taken = *link;
    *link = slots_[taken].next;
    slots_[taken].next = std::exchange(free_, taken);
    if (heads_[index] == none) used_[index / 64] &= ~(std::uint64_t{1} << index % 64);
    counters_.retained_bytes -= slots_[taken].block.capacity;
    --counters_.retained_buffers;
    return slots_[taken].block;
  }

  std::size_t next_used(std::size_t from) const noexcept {
    for (std::size_t word = from / 64; word < used_.size(); ++word) {
      const std::uint64_t bits = used_[word] >> (word == from / 64 ? from % 64 : 0);
      if (bits != 0) {
        return (word == from / 64 ? from : word * 64) + static_cast<std::size_t>(std::countr_zero(bits));
      }
    }
    return detail::size_class_count;
  }

  // Makes room by one block of a class without requests for two epochs.
  template <class Drop>
  void age_out(Drop drop) {
    for (std::size_t index = next_used(0); index < detail::size_class_count; index = next_used(index + 1)) {
      if (last_asked_[index] + 2 < epoch_) return drop(count_aged(pop(index)));
    }
  }
  const cached_block& count_aged(const cached_block& block) noexcept {
    ++counters_.aged_out;
    return block;
  }

  cache_limits limits_;
  double percentile_;
  std::vector<slot> slots_;
  std::array<std::uint32_t, detail::size_class_count> heads_;
  std::array<std::uint32_t, detail::size_class_count> last_asked_{};
  std::array<std::uint64_t, (detail::size_class_count + 63) / 64> used_{};
  std::uint32_t free_ = none;
  std::uint32_t epoch_ = 0;
  std::uint64_t requests_ = 0;
  std::size_t cutoff_ = 256;
  detail::decayed_histogram history_{2048};
  cache_counters counters_;
};

namespace detail {

// A short unsorted list of blocks: the store of the simple policies.
class block_list {
 public:
  explicit block_list(cache_limits limits) : limits_(limits) { blocks_.reserve(limits.buffers); }
  bool is_full_for(std::size_t bytes) const noexcept {
    return blocks_.size() >= limits_.buffers || bytes > limits_.total_bytes - counters.retained_bytes;
  }
  void add(const cached_block& block) {
    blocks_.push_back(block);
    counters.retained_bytes += block.capacity;
    counters.retained_buffers = blocks_.size();
  }
  cached_block take_at(std::size_t index) noexcept {
    const cached_block block = std::exchange(blocks_[index], blocks_.back());
    blocks_.pop_back();
    counters.retained_bytes -= block.capacity;
    counters.retained_buffers = blocks_.size();
    return block;
  }
  cached_block take_first_fit(std::size_t request) noexcept {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].capacity < request) continue;
      ++counters.hits;
      return take_at(i);
    }
    ++counters.misses;
    return {};
  }
  std::size_t smallest() const noexcept {
    std::size_t index = 0;
    for (std::size_t i = 1; i < blocks_.size(); ++i) {
      if (blocks_[i].capacity < blocks_[index].capacity) index = i;
    }
    return index;
  }
  std::size_t size() const noexcept { return blocks_.size(); }
  const cached_block& at(std::size_t index) const noexcept { return blocks_[index]; }
  template <class Drop>
  void drain(Drop drop) {
    while (!blocks_.empty()) drop(take_at(blocks_.size() - 1));
  }

  cache_counters counters;

 private:
  cache_limits limits_;
  std::vector<cached_block> blocks_;
};

}  // namespace detail

// For study: the policy that turns a cache into a leak. A full cache keeps the
// larger of its smallest block and the returned one, and hands out anything
// that is large enough.
class keep_the_larger {
 public:
  explicit keep_the_larger(cache_limits limits) : list_(limits) {}
  template <class Drop>
  cached_block take(std::size_t request, Drop) {
    return list_.take_first_fit(request);
  }
  template <class Drop>
  void give(const cached_block& block, Drop drop) {
    if (!list_.is_full_for(block.capacity)) return list_.add(block);
    ++list_.counters.dropped_full;
    if (list_.size() == 0 || list_.at(list_.smallest()).capacity >= block.capacity) return drop(block);
    drop(list_.take_at(list_.smallest()));
    list_.is_full_for(block.capacity) ? drop(block) : list_.add(block);
  }
  static constexpr std::size_t capacity_for(std::size_t request) noexcept {
    return std::max<std::size_t>(request, 1);
  }
  template <class Drop>
  void drain(Drop drop) {
    list_.drain(drop);
  }
  const cache_counters& counters() const noexcept { return list_.counters; }

 private:
  detail::block_list list_;
};

// A cutoff chosen by hand: blocks above it are never kept, a full cache frees
// what comes back.
template <std::size_t CutoffBytes>
class fixed_cutoff {
  static_assert(CutoffBytes != 0, "a cutoff of zero keeps nothing");

 public:
  explicit fixed_cutoff(cache_limits limits) : list_(limits) {}
  template <class Drop>
  cached_block take(std::size_t request, Drop) {
    return list_.take_first_fit(request);
  }
  template <class Drop>
  void give(const cached_block& block, Drop drop) {
    const bool is_too_large = block.capacity > CutoffBytes;
    if (!is_too_large && !list_.is_full_for(block.capacity)) return list_.add(block);
    ++(is_too_large ? list_.counters.refused_too_large : list_.counters.dropped_full);
    drop(block);
  }
  static constexpr std::size_t capacity_for(std::size_t request) noexcept {
    return std::max<std::size_t>(request, 1);
  }
  template <class Drop>
  void drain(Drop drop) {
    list_.drain(drop);
  }
  const cache_counters& counters() const noexcept { return list_.counters; }

 private:
  detail::block_list list_;
};

// For comparison: a pool calibrated every 42,000 returns, after the published
// description of Go's bytebufferpool. Twenty power-of-two buckets from 64
// bytes count the sizes used; the commonest bucket becomes the size of new
// buffers, the largest among those that make up 95 % becomes the cutoff. Any
// pooled buffer is handed out; one that is too small is replaced, a miss.
class calibrated_pool {
 public:
  explicit calibrated_pool(cache_limits limits) : list_(limits) {}
  template <class Drop>
  cached_block take(std::size_t request, Drop drop) {
    if (list_.size() != 0) {
      const cached_block block = list_.take_at(list_.size() - 1);
      if (block.capacity >= request) {
        ++list_.counters.hits;
        return block;
      }
      drop(block);
    }
    ++list_.counters.misses;
    return {};
  }
  template <class Drop>
  void give(const cached_block& block, Drop drop) {
    ++calls_[bucket_of(block.used != 0 ? block.used : block.capacity)];
    if (++returns_ % calibrate_after == 0) calibrate();
    const bool is_too_large = largest_ != 0 && block.capacity > largest_;
    if (!is_too_large && !list_.is_full_for(block.capacity)) return list_.add(block);
    ++(is_too_large ? list_.counters.refused_too_large : list_.counters.dropped_full);
    drop(block);
  }
  std::size_t capacity_for(std::size_t request) const noexcept {
    return std::max({request, usual_, std::size_t{1}});
  }
  template <class Drop>
  void drain(Drop drop) {
    list_.drain(drop);
  }
  const cache_counters& counters() const noexcept { return list_.counters; }

 private:
  static constexpr std::size_t bucket_count = 20;
  static constexpr std::uint64_t calibrate_after = 42000;

  static std::size_t bucket_of(std::size_t bytes) noexcept {
    const auto index = static_cast<std::size_t>(std::bit_width((bytes - (bytes != 0)) >> 6));
    return std::min(index, bucket_count - 1);
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

  detail::block_list list_;
  std::array<std::uint64_t, bucket_count> calls_{};
  std::uint64_t returns_ = 0;
  std::size_t usual_ = 0;
  std::size_t largest_ = 0;
};

}  // namespace heapwright
#endif
