/* SPDX-License-Identifier: MIT
 * Name pools, phases and regions of memory for a recorder.
 *
 * The weak functions exist when a recorder that understands them is loaded and
 * are absent otherwise; each call then costs one comparison. C and C++.
 * Names must stay valid while the program runs. Thread-safe. */
#ifndef HEAPWRIGHT_ANNOTATE_H
#define HEAPWRIGHT_ANNOTATE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define HEAPWRIGHT_ANNOTATE_NOEXCEPT noexcept
#else
#define HEAPWRIGHT_ANNOTATE_NOEXCEPT
#endif

__attribute__((weak)) void heapwright_annotate_pool_create(const void* pool,
                                                           const char* name) HEAPWRIGHT_ANNOTATE_NOEXCEPT;
__attribute__((weak)) void heapwright_annotate_pool_destroy(const void* pool) HEAPWRIGHT_ANNOTATE_NOEXCEPT;
__attribute__((weak)) void heapwright_annotate_pool_allocate(const void* pool, const void* block,
                                                             size_t bytes) HEAPWRIGHT_ANNOTATE_NOEXCEPT;
__attribute__((weak)) void heapwright_annotate_pool_free(const void* pool,
                                                         const void* block) HEAPWRIGHT_ANNOTATE_NOEXCEPT;
__attribute__((weak)) void heapwright_annotate_phase_begin(const char* name) HEAPWRIGHT_ANNOTATE_NOEXCEPT;
__attribute__((weak)) void heapwright_annotate_phase_end(const char* name) HEAPWRIGHT_ANNOTATE_NOEXCEPT;
__attribute__((weak)) void heapwright_annotate_region(const void* first, size_t bytes,
                                                      const char* name) HEAPWRIGHT_ANNOTATE_NOEXCEPT;

/* A pool is known by its address, from its creation to its destruction. */
static inline void heapwright_pool_created(const void* pool, const char* name) {
  if (heapwright_annotate_pool_create) heapwright_annotate_pool_create(pool, name);
}
static inline void heapwright_pool_destroyed(const void* pool) {
  if (heapwright_annotate_pool_destroy) heapwright_annotate_pool_destroy(pool);
}
/* A block handed out by a pool, which the heap knows nothing of. */
static inline void heapwright_pool_allocated(const void* pool, const void* block, size_t bytes) {
  if (heapwright_annotate_pool_allocate) heapwright_annotate_pool_allocate(pool, block, bytes);
}
static inline void heapwright_pool_freed(const void* pool, const void* block) {
  if (heapwright_annotate_pool_free) heapwright_annotate_pool_free(pool, block);
}
/* Phases of the calling thread; they nest, and end in reverse order. */
static inline void heapwright_phase_begins(const char* name) {
  if (heapwright_annotate_phase_begin) heapwright_annotate_phase_begin(name);
}
static inline void heapwright_phase_ends(const char* name) {
  if (heapwright_annotate_phase_end) heapwright_annotate_phase_end(name);
}
/* Memory with a purpose, until it is freed or named again. */
static inline void heapwright_region_named(const void* first, size_t bytes, const char* name) {
  if (heapwright_annotate_region) heapwright_annotate_region(first, bytes, name);
}

#ifdef __cplusplus
}

namespace heapwright {

// A phase for the length of a scope.
class annotated_phase {
 public:
  explicit annotated_phase(const char* name) noexcept : name_(name) { heapwright_phase_begins(name); }
  annotated_phase(const annotated_phase&) = delete;
  annotated_phase& operator=(const annotated_phase&) = delete;
  ~annotated_phase() { heapwright_phase_ends(name_); }

 private:
  const char* name_;
};

}  // namespace heapwright
#endif
#endif
