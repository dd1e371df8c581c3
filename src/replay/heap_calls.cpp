// SPDX-License-Identifier: MIT
#include "replay/heap_calls.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "figures/process_figures.hpp"
#include "figures/refusal.hpp"

// C23; not in every C library.
extern "C" {
[[gnu::weak]] void free_sized(void* block, std::size_t size);
[[gnu::weak]] void free_aligned_sized(void* block, std::size_t alignment, std::size_t size);
}

// clang declares these only with -fsized-deallocation.
void operator delete(void* block, std::size_t size) noexcept;
void operator delete[](void* block, std::size_t size) noexcept;
void operator delete(void* block, std::size_t size, std::align_val_t alignment) noexcept;
void operator delete[](void* block, std::size_t size, std::align_val_t alignment) noexcept;

namespace heapwright::replay {
namespace {

using trace::EventKind;

std::size_t alignment_of(const Operation& operation) noexcept {
  return std::size_t{1} << operation.alignment_log2;
}

void* make_aligned(const Operation& operation) noexcept {
  const std::size_t size = operation.size;
  void* block = nullptr;
  switch (operation.event_kind()) {
    case EventKind::posix_memalign_:
      return posix_memalign(&block, std::max(alignment_of(operation), sizeof(void*)), size) == 0 ? block
                                                                                                 : nullptr;
    case EventKind::aligned_alloc_:
      return aligned_alloc(alignment_of(operation), size);
    case EventKind::memalign_:
      return memalign(alignment_of(operation), size);
    case EventKind::valloc_:
      return valloc(size);
    default:
      return pvalloc(size);
  }
}

void* make_by_new(const Operation& operation) noexcept {
  const std::size_t size = operation.size;
  const auto alignment = static_cast<std::align_val_t>(alignment_of(operation));
  switch (operation.event_kind()) {
    case EventKind::new_plain:
      return ::operator new(size);
    case EventKind::new_array:
      return ::operator new[](size);
    case EventKind::new_nothrow:
      return ::operator new(size, std::nothrow);
    case EventKind::new_array_nothrow:
      return ::operator new[](size, std::nothrow);
    case EventKind::new_aligned:
      return ::operator new(size, alignment);
    case EventKind::new_array_aligned:
      return ::operator new[](size, alignment);
    case EventKind::new_aligned_nothrow:
      return ::operator new(size, alignment, std::nothrow);
    default:
      return ::operator new[](size, alignment, std::nothrow);
  }
}

void* make(const Operation& operation, void* old) noexcept {
  const std::size_t size = operation.size;
  const auto kind = operation.event_kind();
  switch (kind) {
    case EventKind::malloc_:
      return std::malloc(size);
    case EventKind::calloc_:
      return std::calloc(1, size);
    case EventKind::realloc_:
      // realloc(p, 0) returns nothing in some allocators; in the recording it returned a block.
      return std::realloc(old, std::max<std::size_t>(size, 1));
    case EventKind::reallocarray_:
      return reallocarray(old, 1, std::max<std::size_t>(size, 1));
    default:
      return trace::is_operator_new(kind) ? make_by_new(operation) : make_aligned(operation);
  }
}

void delete_aligned(const Operation& operation, void* block) noexcept {
  const std::size_t size = operation.size;
  const auto alignment = static_cast<std::align_val_t>(alignment_of(operation));
  switch (operation.event_kind()) {
    case EventKind::delete_aligned:
      return ::operator delete(block, alignment);
    case EventKind::delete_array_aligned:
      return ::operator delete[](block, alignment);
    case EventKind::delete_sized_aligned:
      return ::operator delete(block, size, alignment);
    case EventKind::delete_array_sized_aligned:
      return ::operator delete[](block, size, alignment);
    case EventKind::delete_aligned_nothrow:
      return ::operator delete(block, alignment, std::nothrow);
    default:
      return ::operator delete[](block, alignment, std::nothrow);
  }
}

void free_by_c(const Operation& operation, void* block) noexcept {
  const auto kind = operation.event_kind();
  if (kind == EventKind::free_sized_ && free_sized != nullptr) return free_sized(block, operation.size);
  if (kind == EventKind::free_aligned_sized_ && free_aligned_sized != nullptr) {
    return free_aligned_sized(block, alignment_of(operation), operation.size);
  }
  std::free(block);
}

}  // namespace

void* make_block(const Operation& operation, void* old) noexcept {
  void* block = make(operation, old);
  if (block == nullptr) figures::give_up("no block of %zu bytes", static_cast<std::size_t>(operation.size));
  return block;
}

void release_block(const Operation& operation, void* block) noexcept {
  const std::size_t size = operation.size;
  switch (operation.event_kind()) {
    case EventKind::free_:
    case EventKind::free_sized_:
    case EventKind::free_aligned_sized_:
      return free_by_c(operation, block);
    case EventKind::delete_plain:
      return ::operator delete(block);
    case EventKind::delete_array:
      return ::operator delete[](block);
    case EventKind::delete_sized:
      return ::operator delete(block, size);
    case EventKind::delete_array_sized:
      return ::operator delete[](block, size);
    case EventKind::delete_nothrow:
      return ::operator delete(block, std::nothrow);
    case EventKind::delete_array_nothrow:
      return ::operator delete[](block, std::nothrow);
    default:
      return delete_aligned(operation, block);
  }
}

void tune_allocator(const Operation& operation) noexcept {
  if (operation.event_kind() == EventKind::malloc_trim_) {
    malloc_trim(operation.size);
  } else {
    mallopt(static_cast<int>(operation.slot), static_cast<int>(operation.size));
  }
}

void touch_block(void* block, std::uint64_t from_bytes, std::uint64_t touched_bytes) noexcept {
  if (touched_bytes <= from_bytes) return;
  auto* const begin = static_cast<volatile unsigned char*>(block);
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  begin[from_bytes] = 1;
  const auto first_page = (address + from_bytes) / figures::page_bytes + 1;
  for (auto at = first_page * figures::page_bytes; at < address + touched_bytes; at += figures::page_bytes) {
    begin[at - address] = 1;
  }
}

}  // namespace heapwright::replay
