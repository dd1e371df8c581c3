// SPDX-License-Identifier: MIT
// Reuses buffers of varying size without lending large ones to small requests.
// Documentation: docs/parts/buffer_cache.md
//
// A policy decides which buffers to keep and which one to hand out; it sees only
// sizes. The cache runs it with memory, replay() with a recorded sequence of
// sizes to predict what the cache would do.
#ifndef HEAPWRIGHT_BUFFER_CACHE_HPP
#define HEAPWRIGHT_BUFFER_CACHE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "heapwright/detail/buffer_policies.hpp"
#include "heapwright/detail/check.hpp"
#include "heapwright/detail/pool_annotation.hpp"
#include "heapwright/detail/thread_owned.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

namespace detail {

// A buffer_cache without annotation.
template <class Policy>
class buffer_store {
  static constexpr std::uint16_t our_mark = 0x6877;
  static constexpr std::size_t header_bytes = alignof(std::max_align_t);
  static_assert(sizeof(cached_block) <= header_bytes);

 public:
  explicit buffer_store(cache_limits limits) : policy_(limits) {
    HEAPWRIGHT_CHECK(limits.total_bytes != 0 && limits.buffers != 0, "buffer_cache",
                     "a bound must not be zero");
  }
  buffer_store(const buffer_store&) = delete;
  buffer_store& operator=(const buffer_store&) = delete;
  ~buffer_store() { clear(); }

  std::byte* allocate(std::size_t bytes) {
    cached_block* block = policy_.take(bytes, &free_block);
    if (block == nullptr) [[unlikely]] {
      block = new_block(bytes);
    }
    if (HEAPWRIGHT_CHECKED) block->next = lent();
    detail::unpoison(data_of(block), bytes);
    return data_of(block);
  }
  void release(std::byte* data) noexcept {
    cached_block* block = block_of(data);
    HEAPWRIGHT_CHECK(block->mark == our_mark, "buffer_cache",
                     "release() of a buffer that is not from a cache");
    HEAPWRIGHT_CHECK(block->next == lent(), "buffer_cache", "release() of a buffer that is already back");
    detail::poison(data, block->capacity);
    policy_.give(block, 0, &free_block);
  }
  static std::size_t capacity_of(const std::byte* data) noexcept {
    return block_of(const_cast<std::byte*>(data))->capacity;
  }

  void clear() noexcept { policy_.drain(&free_block); }
  const cache_counters& counters() const noexcept { return policy_.counters(); }
  const Policy& policy() const noexcept { return policy_; }

 private:
  // The `next` of a block in use, in checked builds; not the address of any block.
  static cached_block* lent() noexcept {
    return reinterpret_cast<cached_block*>(static_cast<std::uintptr_t>(our_mark));
  }
  static std::byte* data_of(cached_block* block) noexcept {
    return reinterpret_cast<std::byte*>(block) + header_bytes;
  }
  static cached_block* block_of(std::byte* data) noexcept {
    return reinterpret_cast<cached_block*>(data - header_bytes);
  }
  [[gnu::noinline]] cached_block* new_block(std::size_t bytes) {
    const std::size_t capacity = policy_.capacity_for(bytes);
    if (std::max(capacity, bytes) > cached_block::most_bytes) detail::throw_bad_alloc();
    void* memory = ::operator new(header_bytes + capacity);
    return ::new (memory) cached_block(capacity, our_mark);
  }
  static void free_block(cached_block* block) noexcept {
    block->mark = 0;
    detail::unpoison(data_of(block), block->capacity);
    ::operator delete(block);
  }

  Policy policy_;
};

}  // namespace detail

// Not thread-safe; thread_buffer_cache has one cache per thread.
template <class Policy = learnt_cutoff>
class buffer_cache {
  using store = detail::buffer_store<Policy>;

 public:
  // Owns a buffer and returns it to its cache, which must outlive it.
  class buffer {
   public:
    buffer() = default;
    buffer(buffer&& other) noexcept
        : cache_(other.cache_),
          data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)) {}
    buffer& operator=(buffer&& other) noexcept {
      buffer(std::move(other)).swap(*this);
      return *this;
    }
    ~buffer() {
      if (data_ != nullptr) cache_->release(data_);
    }
    void swap(buffer& other) noexcept {
      std::swap(cache_, other.cache_);
      std::swap(data_, other.data_);
      std::swap(size_, other.size_);
    }
    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }  // as requested
    std::size_t capacity() const noexcept { return data_ == nullptr ? 0 : buffer_cache::capacity_of(data_); }
    std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

   private:
    friend class buffer_cache;
    buffer(buffer_cache* cache, std::byte* data, std::size_t size) noexcept
        : cache_(cache), data_(data), size_(size) {}
    buffer_cache* cache_ = nullptr;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
  };

  // `limits` bounds the cached bytes and is mandatory. `name` is for a recorder
  // (annotate.h) and must stay valid.
  explicit buffer_cache(cache_limits limits, const char* name = "buffer_cache")
      : store_(limits), annotation_(this, name) {}

  buffer acquire(std::size_t bytes) { return buffer(this, allocate(bytes), bytes); }

  // For callers that call release() themselves. O(1) except for new; throws
  // std::bad_alloc. The memory is aligned as by new.
  std::byte* allocate(std::size_t bytes) {
    std::byte* data = store_.allocate(bytes);
    annotation_.took(data, bytes);
    return data;
  }
  void release(std::byte* data) noexcept {
    annotation_.gave(data);
    store_.release(data);
  }
  static std::size_t capacity_of(const std::byte* data) noexcept { return store::capacity_of(data); }

  // Frees every cached buffer.
  void clear() noexcept { store_.clear(); }
  const cache_counters& counters() const noexcept { return store_.counters(); }
  const Policy& policy() const noexcept { return store_.policy(); }

 private:
  store store_;
  [[no_unique_address]] detail::pool_annotation annotation_;
};

// One cache per thread, without a lock; any thread may release a buffer. A thread
// frees its cache when it ends; buffers released after that are freed at once. The
// limits apply to each thread.
template <class Tag = void, class Policy = learnt_cutoff>
class thread_buffer_cache {
  using cache = detail::buffer_store<Policy>;

 public:
  // Thread-safe. Applies to threads that first use the cache afterwards.
  static void set_limits(cache_limits limits) noexcept {
    const std::scoped_lock<std::mutex> lock(limits_lock_);
    limits_ = limits;
  }
  static std::byte* allocate(std::size_t bytes) {
    cache* own = of_thread();
    std::byte* data = own != nullptr ? own->allocate(bytes) : cache(limits()).allocate(bytes);
    annotation().took(data, bytes);
    return data;
  }
  static void release(std::byte* data) noexcept {
    annotation().gave(data);
    if (cache* own = of_thread()) return own->release(data);
    cache last(limits());
    last.release(data);
  }
  // Of the calling thread.
  static cache_counters counters() noexcept {
    cache* own = of_thread();
    return own != nullptr ? own->counters() : cache_counters{};
  }

 private:
  struct owner {
    cache buffers{limits()};
  };
  static cache* of_thread() {
    owner* own = detail::thread_owned<owner>::get();
    return own != nullptr ? &own->buffers : nullptr;
  }
  static cache_limits limits() noexcept {
    const std::scoped_lock<std::mutex> lock(limits_lock_);
    return limits_;
  }
  // Shared by all threads' caches: another thread may release a buffer.
  static decltype(auto) annotation() noexcept {
    return detail::lasting_annotation<thread_buffer_cache>(&limits_);
  }
  static inline constinit std::mutex limits_lock_;
  static inline cache_limits limits_{1024 * 1024, 256};
};

// One event of a recorded sequence: a request, or the release of an earlier one.
struct buffer_event {
  std::size_t request;  // its number: 0, 1, 2 ... in order
  std::size_t bytes;    // 0: this is the release of that request
};

struct cache_forecast {
  cache_counters counters;
  double hit_percent;
  double used_percent;  // bytes requested / bytes held by callers, mean over all events
  std::size_t peak_retained_bytes;
  double largest_waste;  // largest capacity / request among hits of 256 bytes and more
};

// Runs a policy, which must be empty, over a sequence and empties it again.
// Allocates no buffers.
template <class Policy>
cache_forecast replay(Policy& policy, std::span<const buffer_event> events) {
  struct lent {
    std::size_t bytes;
    cached_block* block;
  };
  std::vector<lent> lent_blocks;
  std::deque<cached_block> blocks;
  cached_block* spare = nullptr;
  const auto drop = [&](cached_block* block) { block->next = std::exchange(spare, block); };
  const auto new_block = [&](std::size_t capacity) {
    if (spare == nullptr) return &blocks.emplace_back(capacity, std::uint16_t{0});
    cached_block* block = std::exchange(spare, spare->next);
    return ::new (block) cached_block(capacity, 0);
  };
  cache_forecast result{};
  std::size_t needed = 0;
  std::size_t held = 0;
  double used_sum = 0;
  for (const buffer_event& event : events) {
    if (event.bytes != 0) {
      cached_block* block = policy.take(event.bytes, drop);
      if (block == nullptr) {
        block = new_block(policy.capacity_for(event.bytes));
      } else if (event.bytes >= 256) {
        const double waste = static_cast<double>(block->capacity) / static_cast<double>(event.bytes);
        result.largest_waste = std::max(result.largest_waste, waste);
      }
      lent_blocks.resize(std::max(lent_blocks.size(), event.request + 1), lent{0, nullptr});
      lent_blocks[event.request] = {event.bytes, block};
      needed += event.bytes;
      held += block->capacity;
    } else if (event.request < lent_blocks.size() && lent_blocks[event.request].block != nullptr) {
      const lent back = std::exchange(lent_blocks[event.request], lent{0, nullptr});
      needed -= back.bytes;
      held -= back.block->capacity;
      policy.give(back.block, back.bytes, drop);
    }
    used_sum += held == 0 ? 1.0 : static_cast<double>(needed) / static_cast<double>(held);
    result.peak_retained_bytes = std::max(result.peak_retained_bytes, policy.counters().retained_bytes);
  }
  result.counters = policy.counters();
  policy.drain(drop);  // before the blocks are destroyed
  const auto requests = result.counters.hits + result.counters.misses;
  result.hit_percent =
      requests == 0 ? 0 : 100.0 * static_cast<double>(result.counters.hits) / static_cast<double>(requests);
  result.used_percent = events.empty() ? 100.0 : 100.0 * used_sum / static_cast<double>(events.size());
  return result;
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
