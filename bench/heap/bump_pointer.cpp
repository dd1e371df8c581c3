// SPDX-License-Identifier: MIT
// Question: what does a load cost when the heap does nothing?
// malloc counts up an address, free does nothing: what remains are the load's
// own work and the page faults of its blocks. Preloaded, for loads that use no
// block again. Any thread may call.
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

constexpr std::size_t span_bytes = std::size_t{1} << 36;

std::uintptr_t begin_of_span() noexcept {
  void* memory =
      mmap(nullptr, span_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return reinterpret_cast<std::uintptr_t>(memory);  // MAP_FAILED: the first write ends the process
}

std::atomic<std::uintptr_t>& frontier() noexcept {
  static std::atomic<std::uintptr_t> next{begin_of_span()};
  return next;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t rounded = (bytes + 15) / 16 * 16;
  if (alignment <= 16) {
    return reinterpret_cast<void*>(frontier().fetch_add(rounded, std::memory_order_relaxed));
  }
  const std::uintptr_t place = frontier().fetch_add(rounded + alignment, std::memory_order_relaxed);
  return reinterpret_cast<void*>((place + alignment - 1) & ~(alignment - 1));
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) { return take(bytes, 16); }
void free(void*) {}
void* calloc(std::size_t count, std::size_t bytes) { return take(count * bytes, 16); }
void* memalign(std::size_t alignment, std::size_t bytes) { return take(bytes, std::bit_ceil(alignment)); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** into, std::size_t alignment, std::size_t bytes) {
  *into = memalign(alignment, bytes);
  return 0;
}
// Copies more than the block had: what follows it is zeros or other blocks.
void* realloc(void* block, std::size_t bytes) {
  void* moved = malloc(bytes);
  return block == nullptr ? moved : std::memcpy(moved, block, bytes);
}
}
