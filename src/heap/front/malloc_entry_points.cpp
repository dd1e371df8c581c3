// SPDX-License-Identifier: MIT
// The malloc family under its public names.
#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include <bit>
#include <cstdint>
#include <cstdlib>

#include "heap/base/checked_size.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/front/allocate.hpp"
#include "heap/front/start.hpp"
#include "heap/front/statistics.hpp"
#include "heap/service/maintenance.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace heap = heapwright::heap;

namespace {

[[gnu::used]] void (*const at_start)() noexcept = &heap::start;

constexpr std::size_t greatest_power = SIZE_MAX / 2 + 1;

using heap::is_too_big;

void* refuse(int error) noexcept {
  errno = error;
  return nullptr;
}

}  // namespace

EXPORT HEAPWRIGHT_HOT_ENTRY void* malloc(std::size_t bytes) { return heap::allocate(bytes); }

EXPORT HEAPWRIGHT_HOT_ENTRY void free(void* block) { heap::release(block); }

EXPORT void* calloc(std::size_t count, std::size_t bytes) {
  const std::size_t total = heap::checked_product(count, bytes);
  return is_too_big(total) ? refuse(ENOMEM) : heap::allocate_zeroed(total);
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
  return realloc(block, heap::checked_product(count, bytes));
}

EXPORT void cfree(void* block) { heap::release(block); }

// C23: size and alignment must be those of the allocation.
EXPORT void free_sized(void* block, std::size_t bytes) { heap::release_sized(block, bytes); }
EXPORT void free_aligned_sized(void* block, std::size_t alignment, std::size_t bytes) {
  heap::release_sized(block, bytes, alignment);
}

EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
  if (alignment > greatest_power) return refuse(EINVAL);  // cannot be rounded up to a power of two
  if (is_too_big(bytes)) return refuse(ENOMEM);
  // As in the C library: rounds up to a power of two.
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
  return memalign(page, bytes == 0 ? page : heap::checked_round_up(bytes, page));
}

EXPORT std::size_t malloc_usable_size(void* block) { return heap::usable_bytes(block); }

// 1 if memory was returned.
EXPORT int malloc_trim(std::size_t) {
  constexpr std::size_t slice = 1024;
  std::size_t done = 0;
  for (std::size_t last = slice; last == slice; done += last) last = heap::maintain(slice, 0);
  return done != 0 ? 1 : 0;
}

// Programs that check the result are told what the C library tells them. Its settings for where memory comes
// from and when it goes back have nothing to set here; a fill pattern would be a promise about contents.
EXPORT int mallopt(int parameter, int value) {
  constexpr int most_fast_bytes = 160;
  switch (parameter) {
    case M_MXFAST:
      return value >= 0 && value <= most_fast_bytes ? 1 : 0;
    case M_MMAP_THRESHOLD:
    case M_TRIM_THRESHOLD:
    case M_TOP_PAD:
    case M_MMAP_MAX:
    case M_CHECK_ACTION:
    case M_ARENA_TEST:
    case M_ARENA_MAX:
      return 1;
    default:
      return 0;
  }
}

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
  // The C library's XML elements, for existing readers: one arena, without fast bins. Current less rest is
  // the memory in use; returned memory is in neither.
  const std::uintmax_t free_bytes = sums.free_bytes + sums.retained_bytes;
  const std::uintmax_t current_bytes = sums.slab_bytes + sums.large_bytes + sums.retained_bytes;
  const std::uintmax_t most_bytes = sums.committed_bytes;
  std::fprintf(
      stream,
      "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n"
      "<total type=\"fast\" count=\"0\" size=\"0\"/>\n<total type=\"rest\" count=\"%ju\" size=\"%ju\"/>\n"
      "<system type=\"current\" size=\"%ju\"/>\n<system type=\"max\" size=\"%ju\"/>\n"
      "<aspace type=\"total\" size=\"%ju\"/>\n<aspace type=\"mprotect\" size=\"%ju\"/>\n</heap>\n",
      std::uintmax_t{free_bytes != 0}, free_bytes, current_bytes, most_bytes, most_bytes, most_bytes);
  std::fprintf(
      stream,
      "<total type=\"fast\" count=\"0\" size=\"0\"/>\n<total type=\"rest\" count=\"%ju\" size=\"%ju\"/>\n"
      "<total type=\"mmap\" count=\"0\" size=\"0\"/>\n"
      "<system type=\"current\" size=\"%ju\"/>\n<system type=\"max\" size=\"%ju\"/>\n"
      "<aspace type=\"total\" size=\"%ju\"/>\n<aspace type=\"mprotect\" size=\"%ju\"/>\n</malloc>\n",
      std::uintmax_t{free_bytes != 0}, free_bytes, current_bytes, most_bytes, most_bytes, most_bytes);
  return 0;
}
