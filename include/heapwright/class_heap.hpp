// SPDX-License-Identifier: MIT
// A heap of its own, or at least a count of its own, for one class.
// Documentation: docs/parts/class_heap.md
#ifndef HEAPWRIGHT_CLASS_HEAP_HPP
#define HEAPWRIGHT_CLASS_HEAP_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/heap_api.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

struct class_heap_statistics {
  std::uint64_t live_objects;
  std::uint64_t peak_objects;
  std::uint64_t total_objects;  // ever allocated
  std::uint64_t live_bytes;
};

// class Order : public heapwright::class_heap<Order> { ... };
//
// `new Order`, `new Derived` and over-aligned classes come from the heap of
// this class when heapwright's allocator is in the program, else from the
// global operator new; both are counted. Arrays go to the global operator new,
// uncounted. Delete a derived class through its own type or a virtual
// destructor, as everywhere. The heap is never destroyed, so statics may free.
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
  // Match the nothrow forms when a constructor throws. The size is not given
  // then; it is T's own or the block is not counted exactly.
  static void operator delete(void* block, const std::nothrow_t&) noexcept {
    release(block, sizeof(T), default_alignment);
  }
  static void operator delete(void* block, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    release(block, sizeof(T), static_cast<std::size_t>(alignment));
  }
  static void operator delete(void*, void*) noexcept {}

  // For tests: EXPECT_EQ(Order::heap_statistics().live_objects, 0). Exact when
  // no other thread allocates meanwhile.
  static class_heap_statistics heap_statistics() noexcept {
    return {live_.load(std::memory_order_relaxed), peak_.load(std::memory_order_relaxed),
            total_.load(std::memory_order_relaxed), bytes_.load(std::memory_order_relaxed)};
  }
  // The peak starts again from what is live.
  static void reset_heap_peak() noexcept {
    peak_.store(live_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  static bool has_own_heap() noexcept { return own_heap() != nullptr; }

 private:
  static constexpr std::size_t default_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

  static constexpr const char* name() noexcept { return __PRETTY_FUNCTION__; }

  static heapwright_heap* own_heap() noexcept {
    if (!detail::has_heap_api()) return nullptr;
    static heapwright_heap* const heap = heapwright_heap_create(name());
    return heap;
  }

  static void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
    void* block = allocate(bytes, alignment);
    if (block == nullptr) detail::throw_bad_alloc();
    return block;
  }
  static void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* block = nullptr;
    if (heapwright_heap* heap = own_heap()) {
      block = heapwright_heap_allocate(heap, bytes, alignment);
    } else if (alignment > default_alignment) {
      block = ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
    } else {
      block = ::operator new(bytes, std::nothrow);
    }
    if (block != nullptr) count(bytes);
    return block;
  }
  static void release(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (block == nullptr) return;
    [[maybe_unused]] const std::uint64_t live = live_.fetch_sub(1, std::memory_order_relaxed);
    HEAPWRIGHT_CHECK(live != 0, "class_heap", "delete of an object that this class did not allocate");
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    if (heapwright_heap* heap = own_heap()) {
      heapwright_heap_free(heap, block);
    } else if (alignment > default_alignment) {
      ::operator delete (block, std::align_val_t{alignment});
    } else {
      ::operator delete(block);
    }
  }
  static void count(std::size_t bytes) noexcept {
    total_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    const std::uint64_t live = live_.fetch_add(1, std::memory_order_relaxed) + 1;
    std::uint64_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < live && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
    }
  }

  static inline std::atomic<std::uint64_t> live_{0};
  static inline std::atomic<std::uint64_t> peak_{0};
  static inline std::atomic<std::uint64_t> total_{0};
  static inline std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
