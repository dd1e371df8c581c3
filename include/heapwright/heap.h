/* SPDX-License-Identifier: MIT
 * The heap of libheapwright.so, beyond malloc and operator new.
 *
 * The library is preloaded or linked and then serves the malloc family and
 * every operator new and delete; nothing of this header is needed for that.
 * Here is what those cannot say: private heaps, statistics, and the work
 * that a heap puts off.
 *
 * Blocks: at least the size asked for, at most 16-byte steps up to 4 KiB and
 * 64-byte steps up to 64 KiB; 16-byte aligned (8 bytes for sizes up to 8).
 *
 * Settings, read once at the first call; an unknown value is named on stderr
 * and the default taken:
 *   HEAPWRIGHT_HEAP_MAINTENANCE  auto (default): slow calls give memory back, and
 *                                a thread on top in processes without special
 *                                rights | thread: the thread for root, too |
 *                                early: started with the process |
 *                                calls: never a thread |
 *                                manual: heapwright_heap_maintain() is called
 *   HEAPWRIGHT_HEAP_DECAY_MS     0 ... 600000, default 1000: how long a free
 *                                page stays with the process before it is
 *                                given back
 *   HEAPWRIGHT_HEAP_HARDENED     0 (default) | 1: misuse is found and named
 *   HEAPWRIGHT_HEAP_COUNTERS     0 (default) | 1: publish the counters page in
 *                                shared memory (docs/counters.md)
 *
 * Every function may be called from any thread and after fork, none from a
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

/* A heap of its own. `name` is kept, not copied. NULL and errno = ENOMEM when
 * there is no memory. Constant time. */
HEAPWRIGHT_HEAP_API heapwright_heap* heapwright_heap_create(const char* name) HEAPWRIGHT_HEAP_NOEXCEPT;

/* A block of `heap`, from any thread. `alignment` is a power of two. NULL and
 * errno = ENOMEM when there is no memory, EINVAL for another alignment. A
 * bounded number of steps, under the heap's own lock. */
HEAPWRIGHT_HEAP_API void* heapwright_heap_allocate(heapwright_heap* heap, size_t bytes,
                                                   size_t alignment) HEAPWRIGHT_HEAP_NOEXCEPT;

/* Returns a block that heapwright_heap_allocate() gave, from any thread; NULL
 * is ignored. free() takes such a block as well, and heapwright_heap_free()
 * any block of this library: the block knows its heap. */
HEAPWRIGHT_HEAP_API void heapwright_heap_free(heapwright_heap* heap, void* block) HEAPWRIGHT_HEAP_NOEXCEPT;

/* Returns every block of `heap` and the heap itself. Nobody may use either
 * from the moment of the call. The call takes constant time: the memory goes
 * back in slices, by the maintenance thread or heapwright_heap_maintain(). */
HEAPWRIGHT_HEAP_API void heapwright_heap_destroy(heapwright_heap* heap) HEAPWRIGHT_HEAP_NOEXCEPT;

typedef struct heapwright_heap_statistics {
  uint64_t live_blocks;     /* handed out and not yet returned */
  uint64_t live_bytes;      /* their usable sizes */
  uint64_t free_bytes;      /* inside slabs, ready to be handed out */
  uint64_t slab_bytes;      /* address space of slabs, first touched or not */
  uint64_t large_bytes;     /* blocks above 64 KiB, part of live_bytes */
  uint64_t retained_bytes;  /* free runs of pages that are still with the process; whole process only */
  uint64_t committed_bytes; /* address space that may be written; whole process only */
  uint64_t metadata_bytes;  /* address space of the heap's own records; whole process only */
} heapwright_heap_statistics;

/* What `heap` holds; NULL stands for everything in the process. 0, or EINVAL
 * when `out` is NULL. Walks the records of all slabs (64 bytes for 64 KiB), so
 * the time grows with the heap. Exact while no other thread allocates or frees;
 * blocks that a thread holds ready for its next calls count as free for the
 * calling thread and as live for others. */
HEAPWRIGHT_HEAP_API int heapwright_heap_get_statistics(heapwright_heap* heap, heapwright_heap_statistics* out)
    HEAPWRIGHT_HEAP_NOEXCEPT;

/* Does up to `budget` pieces of put-off work (a piece: one free run or one
 * slab looked at, given back or not) whatever its age, and returns how many it
 * did: less than `budget` means that nothing is left. Needed only with
 * HEAPWRIGHT_HEAP_MAINTENANCE=manual, allowed always. */
HEAPWRIGHT_HEAP_API size_t heapwright_heap_maintain(size_t budget) HEAPWRIGHT_HEAP_NOEXCEPT;

/* Whether the heap's own records agree with each other. For tests: the time
 * grows with the heap, and no other thread may allocate or free meanwhile. */
HEAPWRIGHT_HEAP_API int heapwright_heap_is_valid(void) HEAPWRIGHT_HEAP_NOEXCEPT;

/* The counters page of this process (src/counters/heap_section.hpp) and its size. */
HEAPWRIGHT_HEAP_API const void* heapwright_heap_counters(size_t* bytes) HEAPWRIGHT_HEAP_NOEXCEPT;

/* "0.1.0" */
HEAPWRIGHT_HEAP_API const char* heapwright_heap_version(void) HEAPWRIGHT_HEAP_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */

#include <cstddef>
#include <utility>

#include "heapwright/detail/check.hpp"

namespace heapwright {

// Owns a heap; its blocks go with it. Thread-safe except for destruction.
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
