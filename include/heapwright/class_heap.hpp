// SPDX-License-Identifier: MIT
// A private heap and allocation counts for one class.
// Documentation: docs/parts/class_heap.md
#ifndef HEAPWRIGHT_CLASS_HEAP_HPP
#define HEAPWRIGHT_CLASS_HEAP_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/heap_api.hpp"
#include "heapwright/detail/pool_annotation.hpp"
#include "heapwright/detail/thread_owned.hpp"
#include "heapwright/detail/type_name.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

struct class_heap_statistics {
  std::uint64_t live_objects;
  std::uint64_t peak_objects;
  std::uint64_t total_objects;  // ever allocated
  std::uint64_t live_bytes;
};

// class Order : public heapwright::class_heap<Order> { ... };
//
// `new Order`, `new Derived` and over-aligned classes come from this class's heap
// when heapwright's allocator is in the program, else from the global operator
// new; both are counted. Arrays come from the global operator new, uncounted.
// Delete a derived object through its own type or a virtual destructor. The heap
// is never destroyed, so static objects may free at exit. Thread-safe.
template <class T>
class class_heap {
 public:
  static void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, default_alignment); }
  static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
  }
  static void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocate(bytes, default_alignment);
  }
  static void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(bytes, static_cast<std::size_t>(alignment));
  }
  static void* operator new(std::size_t, void* where) noexcept { return where; }

  static void operator delete(void* block, std::size_t bytes) noexcept {
    release(block, bytes, default_alignment);
  }
  static void operator delete(void* block, std::size_t bytes, std::align_val_t alignment) noexcept {
    release(block, bytes, static_cast<std::size_t>(alignment));
  }
  // Called when a constructor throws in a nothrow new. The size is not passed, so
  // the counted bytes are exact only for objects of sizeof(T).
  static void operator delete(void* block, const std::nothrow_t&) noexcept {
    release(block, sizeof(T), default_alignment);
  }
  static void operator delete(void* block, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    release(block, sizeof(T), static_cast<std::size_t>(alignment));
  }
  static void operator delete(void*, void*) noexcept {}

  // For tests: EXPECT_EQ(Order::heap_statistics().live_objects, 0). Exact while no
  // other thread allocates; with several threads the peak may miss up to 32
  // objects per thread. Linear in the number of threads.
  static class_heap_statistics heap_statistics() noexcept {
    const std::scoped_lock<std::mutex> lock(registry_);
    totals sum = past_;
    for (const thread_cache* own = caches_; own != nullptr; own = own->next) sum.add(*own);
    const std::int64_t flushed = live_.load(std::memory_order_relaxed);
    const std::int64_t peak = std::max(peak_.load(std::memory_order_relaxed), flushed + sum.most_unflushed);
    return {static_cast<std::uint64_t>(flushed + sum.unflushed), static_cast<std::uint64_t>(peak),
            sum.objects, sum.bytes};
  }
  // Sets the peak to the live objects.
  static void reset_heap_peak() noexcept {
    const std::scoped_lock<std::mutex> lock(registry_);
    std::int64_t live = live_.load(std::memory_order_relaxed);
    for (thread_cache* own = caches_; own != nullptr; own = own->next) {
      live += own->unflushed.load(std::memory_order_relaxed);
      own->most_unflushed.store(own->unflushed.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    peak_.store(live, std::memory_order_relaxed);
  }
  static bool has_own_heap() noexcept { return own_heap() != nullptr; }

 private:
  static constexpr std::size_t default_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

  static heapwright_heap* own_heap() noexcept {
    if (!detail::has_heap_api()) return nullptr;
    static heapwright_heap* const heap = heapwright_heap_create(detail::type_name<T>::value);
    return heap;
  }

  static void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
    void* block = allocate(bytes, alignment);
    if (block == nullptr) detail::throw_bad_alloc();
    return block;
  }
  static void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    thread_cache* own = of_thread();
    void* block = nullptr;
    if (own != nullptr && own->block_count != 0 && is_cached_size(bytes, alignment)) {
      block = own->blocks[--own->block_count];
    } else {
      block = allocate_below(bytes, alignment);
      if (block == nullptr) return nullptr;
    }
    count(own, 1, static_cast<std::int64_t>(bytes));
    detail::lasting_annotation<T>(&live_).took(block, bytes);
    return block;
  }
  static void release(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (block == nullptr) return;
    detail::lasting_annotation<T>(&live_).gave(block);
    thread_cache* own = of_thread();
    count(own, -1, -static_cast<std::int64_t>(bytes));
    if (own == nullptr || !is_cached_size(bytes, alignment)) return release_below(block, alignment);
    if (own->block_count == most_cached) [[unlikely]] {
      empty(*own, most_cached / 2);
    }
    own->blocks[own->block_count++] = block;
  }

  static void* allocate_below(std::size_t bytes, std::size_t alignment) noexcept {
    if (heapwright_heap* heap = own_heap()) return heapwright_heap_allocate(heap, bytes, alignment);
    if (alignment > default_alignment) {
      return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
    }
    return ::operator new(bytes, std::nothrow);
  }
  static void release_below(void* block, std::size_t alignment) noexcept {
    if (heapwright_heap* heap = own_heap()) return heapwright_heap_free(heap, block);
    if (alignment > default_alignment) return ::operator delete (block, std::align_val_t{alignment});
    ::operator delete(block);
  }

  // Each thread caches up to 64 freed blocks of sizeof(T). None under
  // AddressSanitizer, which has to see each allocation and free.
  static constexpr std::size_t most_cached = HEAPWRIGHT_ASAN ? 1 : 64;
  static constexpr std::int64_t most_unflushed_objects = 32;
  static constexpr bool is_cached_size(std::size_t bytes, std::size_t alignment) noexcept {
    return !HEAPWRIGHT_ASAN && bytes == sizeof(T) && alignment == default_alignment;
  }

  // Written only by its thread; other threads read the counts.
  struct thread_cache {
    thread_cache() noexcept {
      const std::scoped_lock<std::mutex> lock(registry_);
      next = std::exchange(caches_, this);
    }
    thread_cache(const thread_cache&) = delete;
    thread_cache& operator=(const thread_cache&) = delete;
    ~thread_cache() {
      empty(*this, block_count);
      const std::scoped_lock<std::mutex> lock(registry_);
      flush(*this);
      past_.objects += objects.load(std::memory_order_relaxed);
      past_.bytes += bytes.load(std::memory_order_relaxed);
      thread_cache** link = &caches_;
      while (*link != this) link = &(*link)->next;
      *link = next;
    }
    std::size_t block_count = 0;
    std::array<void*, most_cached> blocks{};
    std::atomic<std::int64_t> unflushed{0};       // live objects not yet in live_
    std::atomic<std::int64_t> most_unflushed{0};  // the largest it was since the last flush
    std::atomic<std::uint64_t> objects{0};
    std::atomic<std::uint64_t> bytes{0};
    thread_cache* next = nullptr;
  };
  struct totals {
    std::int64_t unflushed = 0;
    std::int64_t most_unflushed = 0;
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    void add(const thread_cache& own) noexcept {
      unflushed += own.unflushed.load(std::memory_order_relaxed);
      most_unflushed += own.most_unflushed.load(std::memory_order_relaxed);
      objects += own.objects.load(std::memory_order_relaxed);
      bytes += own.bytes.load(std::memory_order_relaxed);
    }
  };
  static thread_cache* of_thread() noexcept { return detail::thread_owned<thread_cache>::get(); }
  static void empty(thread_cache& own, std::size_t count) noexcept {
    for (; count != 0; --count) release_below(own.blocks[--own.block_count], default_alignment);
  }

  template <class N>
  static void add(std::atomic<N>& to, N value) noexcept {  // single writer: no locked instruction
    to.store(to.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
  static void count(thread_cache* own, std::int64_t objects, std::int64_t bytes) noexcept {
#if HEAPWRIGHT_CHECKED
    const std::int64_t live = checked_live_.fetch_add(objects, std::memory_order_relaxed) + objects;
    HEAPWRIGHT_CHECK(live >= 0, "class_heap", "delete of an object that this class did not allocate");
#endif
    if (own == nullptr) [[unlikely]] {
      return count_late(objects, bytes);
    }
    if (objects > 0) add(own->objects, std::uint64_t{1});
    add(own->bytes, static_cast<std::uint64_t>(bytes));
    const std::int64_t unflushed = own->unflushed.load(std::memory_order_relaxed) + objects;
    own->unflushed.store(unflushed, std::memory_order_relaxed);
    if (unflushed > own->most_unflushed.load(std::memory_order_relaxed)) {
      own->most_unflushed.store(unflushed, std::memory_order_relaxed);
    }
    if (unflushed > most_unflushed_objects || unflushed < -most_unflushed_objects) [[unlikely]] {
      flush(*own);
    }
  }
  [[gnu::noinline]] static void flush(thread_cache& own) noexcept {
    const std::int64_t unflushed = own.unflushed.load(std::memory_order_relaxed);
    const std::int64_t before = live_.fetch_add(unflushed, std::memory_order_relaxed);
    raise_peak(before + own.most_unflushed.load(std::memory_order_relaxed));
    own.unflushed.store(0, std::memory_order_relaxed);
    own.most_unflushed.store(0, std::memory_order_relaxed);
  }
  [[gnu::noinline]] static void count_late(std::int64_t objects, std::int64_t bytes) noexcept {
    const std::scoped_lock<std::mutex> lock(registry_);
    past_.objects += objects > 0;
    past_.bytes += static_cast<std::uint64_t>(bytes);
    raise_peak(live_.fetch_add(objects, std::memory_order_relaxed) + objects);
  }
  static void raise_peak(std::int64_t live) noexcept {
    std::int64_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < live && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
    }
  }

  static inline constinit std::mutex registry_;
  static inline constinit thread_cache* caches_ = nullptr;
  static inline constinit totals past_{};
  static inline constinit std::atomic<std::int64_t> live_{0};
  static inline constinit std::atomic<std::int64_t> peak_{0};
#if HEAPWRIGHT_CHECKED
  static inline constinit std::atomic<std::int64_t> checked_live_{0};
#endif
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
