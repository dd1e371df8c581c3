// SPDX-License-Identifier: MIT
// The malloc family under its public names.
#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include <bit>
#include <cstdint>
#include <cstdlib>

#include "heap/allocate.hpp"
#include "heap/maintenance.hpp"
#include "heap/statistics.hpp"
#include "heap/system_pages.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace heap = heapwright::heap;

namespace {

bool is_too_big(std::size_t bytes) noexcept { return bytes > PTRDIFF_MAX; }

void* refuse(int error) noexcept {
  errno = error;
  return nullptr;
}

}  // namespace

EXPORT HEAPWRIGHT_HOT_ENTRY void* malloc(std::size_t bytes) { return heap::allocate(bytes); }

EXPORT HEAPWRIGHT_HOT_ENTRY void free(void* block) { heap::release(block); }

EXPORT void* calloc(std::size_t count, std::size_t bytes) {
  std::size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total) || is_too_big(total)) return refuse(ENOMEM);
  return heap::allocate_zeroed(total);
}

EXPORT void* realloc(void* block, std::size_t bytes) {
  if (block == nullptr) return heap::allocate(bytes);
  if (is_too_big(bytes)) return refuse(ENOMEM);
  if (bytes == 0) {  // as the C library does
    heap::release(block);
    return nullptr;
  }
  return heap::reallocate(block, bytes);
}

EXPORT void* reallocarray(void* block, std::size_t count, std::size_t bytes) {
  std::size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) return refuse(ENOMEM);
  return realloc(block, total);
}

EXPORT void cfree(void* block) { heap::release(block); }

// C23: the size and the alignment must be those of the allocation.
EXPORT void free_sized(void* block, std::size_t bytes) { heap::release_sized(block, bytes); }
EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t bytes) { free_sized(block, bytes); }

EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
  if (is_too_big(bytes) || alignment > PTRDIFF_MAX) return refuse(ENOMEM);
  // As the C library does: the next power of two.
  return heap::allocate_aligned(bytes, std::bit_ceil(alignment < 16 ? 16 : alignment));
}

EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (!std::has_single_bit(alignment)) return refuse(EINVAL);
  return memalign(alignment, bytes);
}

EXPORT int posix_memalign(void** into, std::size_t alignment, std::size_t bytes) {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int before = errno;
  void* block = memalign(alignment, bytes);
  errno = before;
  if (block == nullptr) return ENOMEM;
  *into = block;
  return 0;
}

EXPORT void* valloc(std::size_t bytes) { return memalign(heap::system_page_bytes(), bytes); }

EXPORT void* pvalloc(std::size_t bytes) {
  const std::size_t page = heap::system_page_bytes();
  if (is_too_big(bytes)) return refuse(ENOMEM);
  return memalign(page, bytes == 0 ? page : (bytes + page - 1) / page * page);
}

EXPORT std::size_t malloc_usable_size(void* block) { return heap::usable_bytes(block); }

// 1 if something was given back.
EXPORT int malloc_trim(std::size_t) {
  constexpr std::size_t slice = 1024;
  std::size_t done = 0;
  for (std::size_t last = slice; last == slice; done += last) last = heap::maintain(slice, 0);
  return done != 0 ? 1 : 0;
}

// Every setting is accepted, none has a meaning here.
EXPORT int mallopt(int, int) { return 1; }

EXPORT struct mallinfo2 mallinfo2(void) {
  const heapwright_heap_statistics sums = heap::collect_statistics(nullptr);
  struct mallinfo2 info {};
  info.arena = sums.slab_bytes;
  info.uordblks = sums.live_bytes - sums.large_bytes;
  info.fordblks = sums.free_bytes;
  info.hblkhd = sums.large_bytes;
  info.keepcost = sums.retained_bytes;
  return info;
}

EXPORT struct mallinfo mallinfo(void) {
  const struct mallinfo2 wide = mallinfo2();
  struct mallinfo info {};
  info.arena = static_cast<int>(wide.arena);
  info.uordblks = static_cast<int>(wide.uordblks);
  info.fordblks = static_cast<int>(wide.fordblks);
  info.hblkhd = static_cast<int>(wide.hblkhd);
  info.keepcost = static_cast<int>(wide.keepcost);
  return info;
}

EXPORT void malloc_stats(void) {
  const heapwright_heap_statistics sums = heap::collect_statistics(nullptr);
  std::fprintf(stderr,
               "heapwright: %ju bytes in %ju live blocks, %ju bytes free in slabs, %ju bytes retained\n",
               std::uintmax_t{sums.live_bytes}, std::uintmax_t{sums.live_blocks},
               std::uintmax_t{sums.free_bytes}, std::uintmax_t{sums.retained_bytes});
}

EXPORT int malloc_info(int options, FILE* stream) {
  if (options != 0) return EINVAL;
  const heapwright_heap_statistics sums = heap::collect_statistics(nullptr);
  std::fprintf(stream,
               "<malloc version=\"heapwright-1\">\n<live blocks=\"%ju\" bytes=\"%ju\"/>\n"
               "<large bytes=\"%ju\"/>\n<free bytes=\"%ju\"/>\n<slabs bytes=\"%ju\"/>\n"
               "<retained bytes=\"%ju\"/>\n<committed bytes=\"%ju\"/>\n</malloc>\n",
               std::uintmax_t{sums.live_blocks}, std::uintmax_t{sums.live_bytes},
               std::uintmax_t{sums.large_bytes}, std::uintmax_t{sums.free_bytes},
               std::uintmax_t{sums.slab_bytes}, std::uintmax_t{sums.retained_bytes},
               std::uintmax_t{sums.committed_bytes});
  return 0;
}
