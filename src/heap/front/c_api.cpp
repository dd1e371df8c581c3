// SPDX-License-Identifier: MIT
// include/heapwright/heap.h
#include <errno.h>

#include <bit>
#include <climits>
#include <cstdint>

#include "heap/base/counting.hpp"
#include "heap/base/settings.hpp"
#include "heap/front/allocate.hpp"
#include "heap/front/hardened.hpp"
#include "heap/front/statistics.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/service/publish.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/threads/heap_object.hpp"
#include "heapwright/heap.h"

namespace heap = heapwright::heap;

extern "C" {

heapwright_heap* heapwright_heap_create(const char* name) noexcept {
  heapwright_heap* created = heap::initialize_process() ? heap::create_heap(name) : nullptr;
  if (created == nullptr) errno = ENOMEM;
  return created;
}

void* heapwright_heap_allocate(heapwright_heap* from, size_t bytes, size_t alignment) noexcept {
  if (!std::has_single_bit(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  void* block = nullptr;
  if (bytes <= PTRDIFF_MAX) {
    if (heap::settings.is_hardened) return heap::hardened_allocate_in(from, bytes, alignment);
    block = heap::allocate_in(from, bytes, alignment);
  }
  if (block == nullptr) errno = ENOMEM;
  return block;
}

void heapwright_heap_free(heapwright_heap* from, void* block) noexcept {
  if (block == nullptr) return;
  heap::UnitLine* line = heap::head_line_of(block);
  const bool is_own = from != nullptr && line != nullptr && line->kind == heap::UnitKind::slab &&
                      line->owner.load(std::memory_order_relaxed) == &from->cache;
  if (is_own && !heap::settings.is_hardened) {
    heap::require_block("heapwright_heap_free", line, block);
    return heap::free_in(from, line, block);
  }
  heap::release(block);
}

void heapwright_heap_destroy(heapwright_heap* destroyed) noexcept {
  if (destroyed == nullptr) return;
  if (heap::settings.is_hardened) heap::empty_quarantine_of(destroyed);
  heap::destroy_heap(destroyed);
}

int heapwright_heap_get_statistics(heapwright_heap* of, heapwright_heap_statistics* out) noexcept {
  if (out == nullptr) return EINVAL;
  *out = heap::collect_statistics(of);
  return 0;
}

size_t heapwright_heap_maintain(size_t budget) noexcept {
  if (!heap::initialize_process()) return 0;
  const size_t done = heap::maintain(budget, 0);
  heap::publish_counters();
  return done;
}

int heapwright_heap_is_valid(void) noexcept { return heap::heap_is_valid() ? 1 : 0; }

const void* heapwright_heap_counters(size_t* bytes) noexcept {
  if (bytes != nullptr) *bytes = sizeof(heap::CountersPage);
  return heap::counters_page;
}

const char* heapwright_heap_version(void) noexcept { return HEAPWRIGHT_VERSION; }
}
