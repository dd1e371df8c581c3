// SPDX-License-Identifier: MIT
// The C library's allocator with one fault, chosen by a definition:
// SLOW spends time in every call, WASTEFUL takes and writes twice the size and
// a page more, CRASHING and HANGING do that after some thousand calls, and OVERLAPPING hands out blocks that
// lie in each other, each 64 bytes behind the one before.
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);
}

namespace {

void fault() {
#if defined(HEAPWRIGHT_FAULT_SLOW)
  for (int i = 0; i < 4000; ++i) asm volatile("");
#elif defined(HEAPWRIGHT_FAULT_CRASHING) || defined(HEAPWRIGHT_FAULT_HANGING)
  static std::atomic<int> calls = 0;
  if (calls.fetch_add(1) < 5000) return;
#if defined(HEAPWRIGHT_FAULT_CRASHING)
  raise(SIGSEGV);
#else
  for (;;) {
  }
#endif
#endif
}

std::size_t enlarged(std::size_t size_bytes) {
#if defined(HEAPWRIGHT_FAULT_WASTEFUL)
  return size_bytes * 2 + 4096;
#else
  return size_bytes;
#endif
}

// What is taken in excess is made resident too.
void* written(void* block, std::size_t size_bytes) {
  const std::size_t taken = enlarged(size_bytes);
  if (block != nullptr && taken > size_bytes) {
    std::memset(static_cast<char*>(block) + size_bytes, 1, taken - size_bytes);
  }
  return block;
}

#if defined(HEAPWRIGHT_FAULT_OVERLAPPING)
alignas(64) char room[1 << 20];

void* overlapping() {
  static std::atomic<std::size_t> calls = 0;
  const std::size_t call = calls.fetch_add(1);
  return call < 5000 ? nullptr : &room[64 * (call % 10000)];
}
#endif

}  // namespace

extern "C" {

void* malloc(std::size_t size_bytes) {
  fault();
#if defined(HEAPWRIGHT_FAULT_OVERLAPPING)
  if (void* block = overlapping()) return block;
#endif
  return written(__libc_malloc(enlarged(size_bytes)), size_bytes);
}

void* calloc(std::size_t count, std::size_t size_bytes) {
  fault();
  return __libc_calloc(count, size_bytes);
}

void* realloc(void* block, std::size_t size_bytes) {
  fault();
  return written(__libc_realloc(block, enlarged(size_bytes)), size_bytes);
}

void free(void* block) {
  fault();
#if defined(HEAPWRIGHT_FAULT_OVERLAPPING)
  if (block >= room && block < room + sizeof(room)) return;
#endif
  __libc_free(block);
}
}
