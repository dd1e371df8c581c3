/* SPDX-License-Identifier: MIT
 * Tells a recorder about contexts, pools, phases and memory regions.
 *
 * The functions are weak: a recorder defines them, and without one each call
 * costs one comparison. C and C++. Names must stay valid while the program
 * runs, that of a context until it ends. Thread-safe. */
#ifndef HEAPWRIGHT_ANNOTATE_H
#define HEAPWRIGHT_ANNOTATE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define HEAPWRIGHT_ANNOTATE_NOEXCEPT noexcept
#define HEAPWRIGHT_ANNOTATE_NULL nullptr
#else
#define HEAPWRIGHT_ANNOTATE_NOEXCEPT
#define HEAPWRIGHT_ANNOTATE_NULL NULL
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
__attribute__((weak)) void heapwright_annotate_snapshot(void) HEAPWRIGHT_ANNOTATE_NOEXCEPT;
__attribute__((weak)) const char* heapwright_annotate_context(const char* name) HEAPWRIGHT_ANNOTATE_NOEXCEPT;

/* A pool is identified by its address, from creation to destruction. */
static inline void heapwright_pool_created(const void* pool, const char* name) {
  if (heapwright_annotate_pool_create) heapwright_annotate_pool_create(pool, name);
}
static inline void heapwright_pool_destroyed(const void* pool) {
  if (heapwright_annotate_pool_destroy) heapwright_annotate_pool_destroy(pool);
}
/* A block that the pool hands out; the heap does not see it. */
static inline void heapwright_pool_allocated(const void* pool, const void* block, size_t bytes) {
  if (heapwright_annotate_pool_allocate) heapwright_annotate_pool_allocate(pool, block, bytes);
}
static inline void heapwright_pool_freed(const void* pool, const void* block) {
  if (heapwright_annotate_pool_free) heapwright_annotate_pool_free(pool, block);
}
/* A phase of the calling thread. Phases nest and must end in reverse order. */
static inline void heapwright_phase_begins(const char* name) {
  if (heapwright_annotate_phase_begin) heapwright_annotate_phase_begin(name);
}
static inline void heapwright_phase_ends(const char* name) {
  if (heapwright_annotate_phase_end) heapwright_annotate_phase_end(name);
}
/* Names a memory region until it is freed or named again. */
static inline void heapwright_region_named(const void* first, size_t bytes, const char* name) {
  if (heapwright_annotate_region) heapwright_annotate_region(first, bytes, name);
}
/* Looks at who holds which block; returns when the program's memory has been read. */
static inline void heapwright_snapshot(void) {
  if (heapwright_annotate_snapshot) heapwright_annotate_snapshot();
}

/* What the calling thread works for from here on: an endpoint, a tenant, a kind of job. Its heap calls count
 * for that context until it ends, and blocks until they are freed. Returns the context before, NULL for none,
 * which heapwright_context_ends() takes; so contexts nest, and a task may move to another thread between
 * them. At most 255 names are told apart, by their first 120 bytes. */
static inline const char* heapwright_context_begins(const char* name) {
  return heapwright_annotate_context ? heapwright_annotate_context(name) : HEAPWRIGHT_ANNOTATE_NULL;
}
static inline void heapwright_context_ends(const char* before) {
  if (heapwright_annotate_context) heapwright_annotate_context(before);
}

#ifdef __cplusplus
}

namespace heapwright {

// A context that lasts for a scope.
class annotated_context {
 public:
  explicit annotated_context(const char* name) noexcept : before_(heapwright_context_begins(name)) {}
  annotated_context(const annotated_context&) = delete;
  annotated_context& operator=(const annotated_context&) = delete;
  ~annotated_context() { heapwright_context_ends(before_); }

 private:
  const char* before_;
};

// A phase that lasts for a scope.
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
