// SPDX-License-Identifier: MIT
// malloc and its family. A call that is no remedy's goes on in the next function by a jump, and so does one
// that may be: what it jumps to sees the program's frame as if called by it.
#include <cerrno>
#include <cstdlib>
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

// The next function's where there is none.
template <typename... A>
void* or_next(void* block, void* (*next_function)(A...), A... a) noexcept {
  return block != nullptr ? block : next_function(a...);
}

HEAPWRIGHT_AT_SITE void* malloc_at_site(std::size_t bytes) noexcept {
  return or_next(allocate_at(HEAPWRIGHT_REMEDY, bytes), next.malloc, bytes);
}

HEAPWRIGHT_AT_SITE void* calloc_at_site(std::size_t count, std::size_t bytes) noexcept {
  const std::uint32_t remedy = HEAPWRIGHT_REMEDY;
  std::size_t product = 0;
  const bool is_possible = remedy != no_remedy && !__builtin_mul_overflow(count, bytes, &product);
  return or_next(is_possible ? allocate_zeroed_for(remedy, product) : nullptr, next.calloc, count, bytes);
}

HEAPWRIGHT_AT_SITE void* aligned_alloc_at_site(std::size_t alignment, std::size_t bytes) noexcept {
  const std::uint32_t remedy = is_alignment(alignment) ? HEAPWRIGHT_REMEDY : no_remedy;
  return or_next(allocate_at(remedy, bytes, alignment), next.aligned_alloc, alignment, bytes);
}

HEAPWRIGHT_AT_SITE void* memalign_at_site(std::size_t alignment, std::size_t bytes) noexcept {
  const std::uint32_t remedy = is_alignment(alignment) ? HEAPWRIGHT_REMEDY : no_remedy;
  return or_next(allocate_at(remedy, bytes, alignment), next.memalign, alignment, bytes);
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
  if (remedy == no_remedy || bytes == 0 || !next.tell_sizes) return nullptr;
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

#define HEAPWRIGHT_ALLOCATING(NAME, VALUE, PARAMETERS, ARGUMENTS) \
  HEAPWRIGHT_HOOK VALUE NAME PARAMETERS {                         \
    if (HEAPWRIGHT_IS_SITE) [[unlikely]] {                        \
      return NAME##_at_site ARGUMENTS;                            \
    }                                                             \
    return next.NAME ARGUMENTS;                                   \
  }
HEAPWRIGHT_ALLOCATING(malloc, void*, (std::size_t bytes), (bytes))
HEAPWRIGHT_ALLOCATING(calloc, void*, (std::size_t count, std::size_t bytes), (count, bytes))
HEAPWRIGHT_ALLOCATING(posix_memalign, int, (void** into, std::size_t alignment, std::size_t bytes),
                      (into, alignment, bytes))
HEAPWRIGHT_ALLOCATING(aligned_alloc, void*, (std::size_t alignment, std::size_t bytes), (alignment, bytes))
HEAPWRIGHT_ALLOCATING(memalign, void*, (std::size_t alignment, std::size_t bytes), (alignment, bytes))

HEAPWRIGHT_HOOK void free(void* block) {
  if (is_own(block)) [[unlikely]] {
    return release_own(block);
  }
  return next.free(block);
}

HEAPWRIGHT_HOOK std::size_t malloc_usable_size(void* block) {
  return is_own(block) ? usable_bytes_of_own(block) : next.malloc_usable_size(block);
}

HEAPWRIGHT_HOOK void* valloc(std::size_t bytes) {
  return HEAPWRIGHT_IS_SITE ? memalign_at_site(page_bytes, bytes) : next.memalign(page_bytes, bytes);
}

// Whole pages, one at least.
HEAPWRIGHT_HOOK void* pvalloc(std::size_t bytes) {
  std::size_t whole = 0;
  if (__builtin_add_overflow(bytes, page_bytes - 1, &whole)) return next.memalign(page_bytes, bytes);
  whole = bytes == 0 ? page_bytes : whole & ~(page_bytes - 1);
  return HEAPWRIGHT_IS_SITE ? memalign_at_site(page_bytes, whole) : next.memalign(page_bytes, whole);
}

HEAPWRIGHT_HOOK void* realloc(void* block, std::size_t bytes) {
  if (HEAPWRIGHT_IS_SITE || is_own(block)) [[unlikely]] {
    return realloc_at_site(block, bytes);
  }
  return next.realloc(block, bytes);
}

// These call the program's, whichever that is, as the C library's do.
HEAPWRIGHT_HOOK void cfree(void* block) { ::free(block); }
HEAPWRIGHT_HOOK void free_sized(void* block, std::size_t) { ::free(block); }
HEAPWRIGHT_HOOK void free_aligned_sized(void* block, std::size_t, std::size_t) { ::free(block); }
HEAPWRIGHT_HOOK void* reallocarray(void* block, std::size_t count, std::size_t bytes) {
  std::size_t product = 0;
  if (__builtin_mul_overflow(count, bytes, &product)) {
    errno = ENOMEM;
    return nullptr;
  }
  return HEAPWRIGHT_IS_SITE ? realloc_at_site(block, product) : ::realloc(block, product);
}

}  // namespace heapwright::apply
