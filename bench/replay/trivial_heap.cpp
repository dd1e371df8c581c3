// SPDX-License-Identifier: MIT
// Question: what does a replay cost beside the calls of the heap?
// malloc counts up an address in a small ring, free does nothing: what remains is the caller's own work. For
// callers that write to a block's first bytes alone. Preloaded; one thread.
#include <sys/mman.h>

#include <cstddef>
#include <cstring>

namespace {

constexpr std::size_t ring_bytes = std::size_t{1} << 19;
constexpr std::size_t beyond_bytes = std::size_t{64} << 20;  // what begins in the ring may end here

char* ring() noexcept {
  static void* memory = mmap(nullptr, ring_bytes + beyond_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return static_cast<char*>(memory);
}

std::size_t next = 0;

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) {
  next = (next + (bytes + 15) / 16 * 16) % ring_bytes;
  return ring() + next;
}
void free(void*) {}
void* calloc(std::size_t count, std::size_t bytes) { return malloc(count * bytes); }
void* realloc(void* block, std::size_t bytes) { return block == nullptr ? malloc(bytes) : block; }
void* memalign(std::size_t alignment, std::size_t bytes) {
  next = (next + alignment - 1) / alignment * alignment;
  return malloc(bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** into, std::size_t alignment, std::size_t bytes) {
  *into = memalign(alignment, bytes);
  return 0;
}
}
