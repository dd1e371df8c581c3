// SPDX-License-Identifier: MIT
// malloc and its family. A call that is no remedy's goes on in the next function by a jump, and so does one
// that may be: what it jumps to sees the program's frame as if called by it.
#include <cerrno>
#include <cstring>

#include "apply/next_functions.hpp"
#include "apply/site_heaps.hpp"
#include "apply/sites.hpp"

#define HEAPWRIGHT_HOOK extern "C" __attribute__((visibility("default")))
// An entry point jumps here before it has made a frame: what lies around this one is the program's.
#define HEAPWRIGHT_AT_SITE [[gnu::noinline, gnu::cold]]
#define HEAPWRIGHT_IS_SITE may_be_site(__builtin_return_address(0))
#define HEAPWRIGHT_REMEDY remedy_of_call(__builtin_frame_address(0))

namespace heapwright::apply {
namespace {

constexpr std::size_t page_bytes = 4096;

bool is_alignment(std::size_t alignment) noexcept {
  return alignment != 0 && (alignment & (alignment - 1)) == 0;
}

// nullptr: the program's allocator decides, also about what is wrong with the arguments.
void* allocate_at(std::uint32_t remedy, std::size_t bytes, std::size_t alignment = 16) noexcept {
  return remedy == no_remedy ? nullptr : allocate_for(remedy, bytes, alignment);
}

HEAPWRIGHT_AT_SITE void* malloc_at_site(std::size_t bytes) noexcept {
  void* block = allocate_at(HEAPWRIGHT_REMEDY, bytes);
  return block != nullptr ? block : next.malloc(bytes);
}

HEAPWRIGHT_AT_SITE void* calloc_at_site(std::size_t count, std::size_t bytes) noexcept {
  const std::uint32_t remedy = HEAPWRIGHT_REMEDY;
  std::size_t product = 0;
  const bool is_possible = remedy != no_remedy && !__builtin_mul_overflow(count, bytes, &product);
  void* block = is_possible ? allocate_zeroed_for(remedy, product) : nullptr;
  return block != nullptr ? block : next.calloc(count, bytes);
}

HEAPWRIGHT_AT_SITE void* aligned_alloc_at_site(std::size_t alignment, std::size_t bytes) noexcept {
  const std::uint32_t remedy = HEAPWRIGHT_REMEDY;
  void* block = is_alignment(alignment) ? allocate_at(remedy, bytes, alignment) : nullptr;
  return block != nullptr ? block : next.aligned_alloc(alignment, bytes);
}

HEAPWRIGHT_AT_SITE void* memalign_at_site(std::size_t alignment, std::size_t bytes) noexcept {
  const std::uint32_t remedy = HEAPWRIGHT_REMEDY;
  void* block = is_alignment(alignment) ? allocate_at(remedy, bytes, alignment) : nullptr;
  return block != nullptr ? block : next.memalign(alignment, bytes);
}

HEAPWRIGHT_AT_SITE int posix_memalign_at_site(void** into, std::size_t alignment,
                                              std::size_t bytes) noexcept {
  const std::uint32_t remedy = HEAPWRIGHT_REMEDY;
  const bool is_valid = is_alignment(alignment) && alignment % sizeof(void*) == 0;
  void* block = is_valid ? allocate_at(remedy, bytes, alignment) : nullptr;
  if (block == nullptr) return next.posix_memalign(into, alignment, bytes);
  *into = block;
  return 0;
}

HEAPWRIGHT_AT_SITE void* valloc_at_site(std::size_t bytes) noexcept {
  void* block = allocate_at(HEAPWRIGHT_REMEDY, bytes, page_bytes);
  return block != nullptr ? block : next.valloc(bytes);
}

HEAPWRIGHT_AT_SITE void* pvalloc_at_site(std::size_t bytes) noexcept {
  const std::uint32_t remedy = HEAPWRIGHT_REMEDY;
  const std::size_t whole = (bytes + page_bytes - 1) & ~(page_bytes - 1);
  void* block = whole >= bytes ? allocate_at(remedy, whole == 0 ? page_bytes : whole, page_bytes) : nullptr;
  return block != nullptr ? block : next.pvalloc(bytes);
}

void* moved(void* from, std::size_t from_bytes, void* to, std::size_t bytes) noexcept {
  std::memcpy(to, from, from_bytes < bytes ? from_bytes : bytes);
  return to;
}

// Of our block: within its heap if the call is that remedy's, else into the heap of the call.
void* reallocate_own(std::uint32_t remedy, void* block, std::size_t bytes) noexcept {
  if (bytes == 0) {  // as the C library does
    release_own(block);
    return nullptr;
  }
  void* to = remedy != no_remedy ? resize_own(remedy, block, bytes) : nullptr;
  if (to != nullptr) return to;
  to = allocate_at(remedy, bytes);
  if (to == nullptr) to = next.malloc(bytes);
  if (to == nullptr) return nullptr;
  moved(block, usable_bytes_of_own(block), to, bytes);
  release_own(block);
  return to;
}

// Of the program's allocator's block, to a remedy's heap. nullptr: that allocator goes on.
void* take_over(std::uint32_t remedy, void* block, std::size_t bytes) noexcept {
  if (remedy == no_remedy || bytes == 0 || next.malloc_usable_size == nullptr) return nullptr;
  void* to = allocate_for(remedy, bytes, 16);
  if (to == nullptr) return nullptr;
  moved(block, next.malloc_usable_size(block), to, bytes);
  const int before = errno;
  next.free(block);
  errno = before;
  return to;
}

// Also for what no site asks for, but ours.
void* reallocate(std::uint32_t remedy, void* block, std::size_t bytes) noexcept {
  if (is_own(block)) return reallocate_own(remedy, block, bytes);
  void* to = block == nullptr ? allocate_at(remedy, bytes) : take_over(remedy, block, bytes);
  return to != nullptr ? to : next.realloc(block, bytes);
}

HEAPWRIGHT_AT_SITE void* realloc_at_site(void* block, std::size_t bytes) noexcept {
  return reallocate(HEAPWRIGHT_REMEDY, block, bytes);
}

}  // namespace

HEAPWRIGHT_HOOK void* malloc(std::size_t bytes) {
  if (HEAPWRIGHT_IS_SITE) [[unlikely]] {
    return malloc_at_site(bytes);
  }
  return next.malloc(bytes);
}

HEAPWRIGHT_HOOK void free(void* block) {
  if (is_own(block)) [[unlikely]] {
    return release_own(block);
  }
  return next.free(block);
}

HEAPWRIGHT_HOOK void* calloc(std::size_t count, std::size_t bytes) {
  if (HEAPWRIGHT_IS_SITE) [[unlikely]] {
    return calloc_at_site(count, bytes);
  }
  return next.calloc(count, bytes);
}

HEAPWRIGHT_HOOK void* realloc(void* block, std::size_t bytes) {
  if (HEAPWRIGHT_IS_SITE || is_own(block)) [[unlikely]] {
    return realloc_at_site(block, bytes);
  }
  return next.realloc(block, bytes);
}

// The C library's calls the program's realloc, whichever that is, and the caller would be lost.
HEAPWRIGHT_HOOK void* reallocarray(void* block, std::size_t count, std::size_t bytes) {
  std::size_t product = 0;
  if (HEAPWRIGHT_IS_SITE && !__builtin_mul_overflow(count, bytes, &product)) [[unlikely]] {
    return realloc_at_site(block, product);
  }
  return next.reallocarray(block, count, bytes);
}

HEAPWRIGHT_HOOK void cfree(void* block) {
  if (is_own(block)) [[unlikely]] {
    return release_own(block);
  }
  return next.free(block);
}

HEAPWRIGHT_HOOK void free_sized(void* block, std::size_t bytes) {
  if (is_own(block)) [[unlikely]] {
    return release_own(block);
  }
  return next.free_sized(block, bytes);
}

HEAPWRIGHT_HOOK void free_aligned_sized(void* block, std::size_t alignment, std::size_t bytes) {
  if (is_own(block)) [[unlikely]] {
    return release_own(block);
  }
  return next.free_aligned_sized(block, alignment, bytes);
}

HEAPWRIGHT_HOOK int posix_memalign(void** into, std::size_t alignment, std::size_t bytes) {
  if (HEAPWRIGHT_IS_SITE) [[unlikely]] {
    return posix_memalign_at_site(into, alignment, bytes);
  }
  return next.posix_memalign(into, alignment, bytes);
}

HEAPWRIGHT_HOOK void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (HEAPWRIGHT_IS_SITE) [[unlikely]] {
    return aligned_alloc_at_site(alignment, bytes);
  }
  return next.aligned_alloc(alignment, bytes);
}

HEAPWRIGHT_HOOK void* memalign(std::size_t alignment, std::size_t bytes) {
  if (HEAPWRIGHT_IS_SITE) [[unlikely]] {
    return memalign_at_site(alignment, bytes);
  }
  return next.memalign(alignment, bytes);
}

HEAPWRIGHT_HOOK void* valloc(std::size_t bytes) {
  if (HEAPWRIGHT_IS_SITE) [[unlikely]] {
    return valloc_at_site(bytes);
  }
  return next.valloc(bytes);
}

HEAPWRIGHT_HOOK void* pvalloc(std::size_t bytes) {
  if (HEAPWRIGHT_IS_SITE) [[unlikely]] {
    return pvalloc_at_site(bytes);
  }
  return next.pvalloc(bytes);
}

HEAPWRIGHT_HOOK std::size_t malloc_usable_size(void* block) {
  if (is_own(block)) [[unlikely]] {
    return usable_bytes_of_own(block);
  }
  return next.malloc_usable_size != nullptr ? next.malloc_usable_size(block) : 0;
}

}  // namespace heapwright::apply
