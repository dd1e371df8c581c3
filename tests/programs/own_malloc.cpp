// SPDX-License-Identifier: MIT
// A program with an allocator of its own linked in, as with a static
// jemalloc: no hook of the heap is ever called, and the recording has to say
// so. Like that one it gets its memory from mmap and sbrk with its lock held,
// in the first malloc of the process, which a library's constructor makes. The
// operators are the C++ runtime's, and recorded.
#include <pthread.h>
#include <sys/mman.h>

#include <clocale>
#include <cstdint>

#include "say.hpp"

extern locale_t early_locale;

namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
constexpr std::size_t pool_bytes = 64 << 20;
constexpr std::size_t unused_bytes = 64 << 10;
char* pool;
std::size_t used = 0;

void make_pool() {
  void* mapped = mmap(nullptr, pool_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* unused = mmap(nullptr, unused_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unused = mremap(unused, unused_bytes, unused_bytes / 2, 0);
  REQUIRE(mapped != MAP_FAILED && munmap(unused, unused_bytes / 2) == 0);
  auto* end = static_cast<char*>(sbrk(unused_bytes));
  REQUIRE(sbrk(0) == end + unused_bytes && brk(end) == 0 && sbrk(0) == end);
  pool = static_cast<char*>(mapped);
}

// Where another allocator's malloc_usable_size would look for a header.
void* take_behind_guard() {
  constexpr std::size_t page_bytes = 4096;
  void* pages = mmap(nullptr, 2 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  char* block = static_cast<char*>(pages) + page_bytes;
  REQUIRE(mprotect(block, page_bytes, PROT_READ | PROT_WRITE) == 0);
  return block;
}

void* take(std::size_t size) {
  if (size == 3011) return take_behind_guard();
  const std::size_t rounded = (size + 15) & ~std::size_t{15};
  pthread_mutex_lock(&lock);
  if (pool == nullptr) make_pool();
  const bool fits = rounded >= size && rounded <= pool_bytes - used;
  void* block = fits ? pool + used : nullptr;
  if (fits) used += rounded;
  pthread_mutex_unlock(&lock);
  return block;
}

}  // namespace

extern "C" {
void* malloc(std::size_t size) { return take(size); }
void free(void*) {}
void* calloc(std::size_t count, std::size_t size) { return take(count * size); }
void* realloc(void*, std::size_t size) { return take(size); }
}

int main() {
  REQUIRE(pool != nullptr && early_locale != nullptr);
  for (int i = 0; i < 10; ++i) std::free(keep(std::malloc(3001)));
  for (int i = 0; i < 10; ++i) ::operator delete(keep(::operator new(3011)));
  say("note blocks 10\nallocated 10 3011 operator new\nreleased 10 3011 operator delete\n");
  return 0;
}
