/* SPDX-License-Identifier: MIT
 * The API of libheapwright.so beyond malloc and operator new.
 *
 * Preloaded or linked, the library serves the malloc family and every operator
 * new and delete without this header. The header adds private heaps,
 * statistics and control over deferred maintenance.
 *
 * Size classes: steps of 16 bytes up to 4 KiB and of 64 bytes up to 64 KiB;
 * rarely used sizes share a coarser class. Blocks are 16-byte aligned, those of
 * up to 8 bytes are 8-byte aligned.
 *
 * Settings, read once at the first call; an invalid value is reported on stderr
 * and the default is used:
 *   HEAPWRIGHT_HEAP_MAINTENANCE  auto (default): slow calls return memory to the
 *                                kernel, and so does a thread in processes
 *                                without special rights |
 *                                thread: the thread for root, too |
 *                                early: started with the process |
 *                                calls: never a thread |
 *                                manual: only heapwright_heap_maintain()
 *   HEAPWRIGHT_HEAP_DECAY_MS     0 ... 600000, default 1000: how long a free
 *                                page is kept before it is returned to the kernel
 *   HEAPWRIGHT_HEAP_HARDENED     0 (default) | 1: detect and report misuse
 *   HEAPWRIGHT_HEAP_COUNTERS     0 (default) | 1: publish the counters page in
 *                                shared memory (docs/counters.md) | print: also
 *                                print at exit what the heap held at most
 *
 * All functions are thread-safe and work after fork. None may be called from a
 * signal handler. */
#ifndef HEAPWRIGHT_HEAP_H
#define HEAPWRIGHT_HEAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HEAPWRIGHT_HEAP_NOEXCEPT noexcept
extern "C" {
#else
#define HEAPWRIGHT_HEAP_NOEXCEPT
#endif
#define HEAPWRIGHT_HEAP_API __attribute__((visibility("default")))

typedef struct heapwright_heap heapwright_heap;

/* Creates a private heap. `name` is not copied and must outlive the heap.
 * Returns NULL with errno = ENOMEM when out of memory. Constant time. */
HEAPWRIGHT_HEAP_API heapwright_heap* heapwright_heap_create(const char* name) HEAPWRIGHT_HEAP_NOEXCEPT;

/* Allocates a block of at least `bytes` bytes. `alignment` is a power of two.
 * Returns NULL with errno = ENOMEM when out of memory, EINVAL for any other
 * alignment. Takes a bounded number of steps, under the heap's lock. */
HEAPWRIGHT_HEAP_API void* heapwright_heap_allocate(heapwright_heap* heap, size_t bytes,
                                                   size_t alignment) HEAPWRIGHT_HEAP_NOEXCEPT;

/* Frees a block from heapwright_heap_allocate(); NULL is ignored. The block
 * identifies its heap: free() accepts such a block too, and
 * heapwright_heap_free() accepts any block of this library. */
HEAPWRIGHT_HEAP_API void heapwright_heap_free(heapwright_heap* heap, void* block) HEAPWRIGHT_HEAP_NOEXCEPT;

/* Frees every block of `heap` and the heap itself; NULL is ignored. Neither may
 * be used once the call begins. Constant time: the memory is returned in
 * slices, by the maintenance thread or heapwright_heap_maintain(). */
HEAPWRIGHT_HEAP_API void heapwright_heap_destroy(heapwright_heap* heap) HEAPWRIGHT_HEAP_NOEXCEPT;

typedef struct heapwright_heap_statistics {
  uint64_t live_blocks;     /* allocated and not yet freed */
  uint64_t live_bytes;      /* their usable sizes */
  uint64_t free_bytes;      /* inside slabs, available for allocation */
  uint64_t slab_bytes;      /* address space of slabs, touched or not */
  uint64_t large_bytes;     /* blocks above 64 KiB, part of live_bytes */
  uint64_t retained_bytes;  /* free page runs not yet returned to the kernel; whole process only */
  uint64_t committed_bytes; /* address space that may be written; whole process only */
  uint64_t metadata_bytes;  /* address space of the heap's metadata; whole process only */
} heapwright_heap_statistics;

/* Fills `out` for `heap`, or for the whole process when `heap` is NULL. Returns
 * 0, or EINVAL when `out` is NULL. Reads the metadata of all slabs (64 bytes
 * per 64 KiB), so the time grows with the heap. Exact while no other thread
 * allocates or frees. Blocks in a thread's cache count as free when that thread
 * asks and as live when another one does. */
HEAPWRIGHT_HEAP_API int heapwright_heap_get_statistics(heapwright_heap* heap, heapwright_heap_statistics* out)
    HEAPWRIGHT_HEAP_NOEXCEPT;

/* Does up to `budget` pieces of deferred maintenance regardless of their age and
 * returns how many it did; fewer than `budget` means that none are left. A piece
 * examines one free run or one slab, returned or not. Always allowed; needed
 * only with HEAPWRIGHT_HEAP_MAINTENANCE=manual. */
HEAPWRIGHT_HEAP_API size_t heapwright_heap_maintain(size_t budget) HEAPWRIGHT_HEAP_NOEXCEPT;

/* Nonzero if the heap's metadata is consistent. For tests: the time grows with
 * the heap, and no other thread may allocate or free during the call. */
HEAPWRIGHT_HEAP_API int heapwright_heap_is_valid(void) HEAPWRIGHT_HEAP_NOEXCEPT;

/* The counters page of this process (src/counters/heap_section.hpp) and its size. */
HEAPWRIGHT_HEAP_API const void* heapwright_heap_counters(size_t* bytes) HEAPWRIGHT_HEAP_NOEXCEPT;

/* "1.0.0" */
HEAPWRIGHT_HEAP_API const char* heapwright_heap_version(void) HEAPWRIGHT_HEAP_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */

#include <cstddef>
#include <utility>

#include "heapwright/detail/check.hpp"

namespace heapwright {

// Owns a private heap; destruction frees all its blocks. Thread-safe except for
// moves and destruction.
class private_heap {
 public:
  // Throws std::bad_alloc.
  explicit private_heap(const char* name) : heap_(heapwright_heap_create(name)) {
    if (heap_ == nullptr) detail::throw_bad_alloc();
  }
  private_heap(private_heap&& other) noexcept : heap_(std::exchange(other.heap_, nullptr)) {}
  private_heap& operator=(private_heap&& other) noexcept {
    std::swap(heap_, other.heap_);
    return *this;
  }
  private_heap(const private_heap&) = delete;
  private_heap& operator=(const private_heap&) = delete;
  ~private_heap() { heapwright_heap_destroy(heap_); }

  // Throws std::bad_alloc.
  void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    void* block = heapwright_heap_allocate(heap_, bytes, alignment);
    if (block == nullptr) detail::throw_bad_alloc();
    return block;
  }
  void deallocate(void* block) noexcept { heapwright_heap_free(heap_, block); }
  heapwright_heap_statistics statistics() const noexcept {
    heapwright_heap_statistics values{};
    heapwright_heap_get_statistics(heap_, &values);
    return values;
  }
  heapwright_heap* get() const noexcept { return heap_; }

 private:
  heapwright_heap* heap_;
};

}  // namespace heapwright
#endif
#endif
