// SPDX-License-Identifier: MIT
// own_names FAMILY [LIBRARY]: calls what mimalloc, jemalloc or tcmalloc offer
// under names of their own: bound by the loader (linked or preloaded), or
// looked up in LIBRARY by dlsym. "own_names weak" only says which are there.
#include <dlfcn.h>
#include <sys/mman.h>

#include <new>
#include <string_view>

#include "say.hpp"

#define WEAK extern "C" [[gnu::weak]]

namespace {
constexpr int jemalloc_zero = 0x40;
constexpr int jemalloc_align_256 = 8;
constexpr int many = 10'000;
void* library;
}  // namespace

using Size = std::size_t;
WEAK void* mi_malloc(Size);
WEAK void* mi_zalloc(Size);
WEAK void* mi_calloc(Size, Size);
WEAK void* mi_mallocn(Size, Size);
WEAK void* mi_realloc(void*, Size);
WEAK void* mi_reallocf(void*, Size);
WEAK void* mi_malloc_small(Size);
WEAK void* mi_malloc_aligned(Size, Size);
WEAK void* mi_malloc_aligned_at(Size, Size, Size);
WEAK int mi_posix_memalign(void**, Size, Size);
WEAK void* mi_new(Size);
WEAK void* mi_new_n(Size, Size);
WEAK char* mi_strdup(const char*);
WEAK void mi_free(void*);
WEAK void mi_free_size(void*, Size);
WEAK void mi_free_size_aligned(void*, Size, Size);
WEAK void mi_free_aligned(void*, Size);
WEAK Size mi_usable_size(void*);
WEAK void* mi_heap_new();
WEAK void* mi_heap_malloc(void*, Size);
WEAK void mi_heap_delete(void*);
WEAK void mi_heap_destroy(void*);
WEAK void* mallocx(Size, int);
WEAK void* rallocx(void*, Size, int);
WEAK Size xallocx(void*, Size, Size, int);
WEAK Size sallocx(const void*, int);
WEAK Size nallocx(Size, int);
WEAK void dallocx(void*, int);
WEAK void sdallocx(void*, Size, int);
WEAK void* tc_malloc(Size);
WEAK void* tc_calloc(Size, Size);
WEAK void* tc_realloc(void*, Size);
WEAK void* tc_memalign(Size, Size);
WEAK int tc_posix_memalign(void**, Size, Size);
WEAK void tc_free(void*);
WEAK void tc_free_sized(void*, Size);
WEAK void* tc_new(Size);
WEAK void* tc_newarray_nothrow(Size, const std::nothrow_t&);
WEAK void tc_delete(void*);
WEAK void tc_deletearray_nothrow(void*, const std::nothrow_t&);

namespace {

// jemalloc may be built with a prefix.
void* find(const char* name) {
  char prefixed[64];
  std::snprintf(prefixed, sizeof prefixed, "je_%s", name);
  void* function = dlsym(library, name);
  return function != nullptr ? function : dlsym(library, prefixed);
}

}  // namespace

// A plain call where the loader has bound the name, otherwise by dlsym.
#define CALL(name, ...) \
  (library != nullptr ? reinterpret_cast<decltype(&name)>(find(#name))(__VA_ARGS__) : name(__VA_ARGS__))

namespace {

void use_mimalloc() {
  for (int i = 0; i < many; ++i) CALL(mi_free, keep(CALL(mi_malloc, 3101)));
  say("allocated %d 3101 malloc\nreleased %d 3101 free\n", many, many);
  void* grown = keep(CALL(mi_realloc, keep(CALL(mi_calloc, 7, 443)), 60'101));
  grown = keep(CALL(mi_reallocf, grown, 60'102));
  CALL(mi_free_size, grown, 60'102);
  say("allocated 1 3101 calloc\nallocated 1 60101 realloc\nallocated 1 60102 realloc\nreleased 1 60102 "
      "free_sized\n");
  CALL(mi_free, keep(CALL(mi_zalloc, 3103)));
  CALL(mi_free, keep(CALL(mi_mallocn, 8, 388)));
  CALL(mi_free, keep(CALL(mi_malloc_small, 301)));
  say("allocated 1 3103 calloc\nallocated 1 3104 malloc\nallocated 1 301 malloc\n");
  CALL(mi_free_size_aligned, keep(CALL(mi_malloc_aligned, 3105, 256)), 3105, 256);
  CALL(mi_free_aligned, keep(CALL(mi_malloc_aligned, 3106, 512)), 512);
  CALL(mi_free, keep(CALL(mi_malloc_aligned_at, 3107, 64, 16)));
  say("allocated 1 3105 aligned_alloc\nreleased 1 3105 free_aligned_sized\nallocated 1 3106 aligned_alloc\n");
  say("allocated 1 3107 malloc\n");
  void* block = nullptr;
  REQUIRE(CALL(mi_posix_memalign, &block, 128, 3108) == 0 && block != nullptr);
  CALL(mi_free, block);
  CALL(mi_free, keep(CALL(mi_new, 3110)));
  CALL(mi_free, keep(CALL(mi_new_n, 4, 778)));
  CALL(mi_free, keep(CALL(mi_strdup, "a text of twenty-three")));
  say("allocated 1 3108 posix_memalign\nallocated 1 3110 operator new\nallocated 1 3112 operator new[]\n");
  say("allocated 1 23 malloc\n");
  void* heap = CALL(mi_heap_new);
  CALL(mi_free, keep(CALL(mi_heap_malloc, heap, 3113)));
  CALL(mi_heap_delete, heap);
  say("allocated 1 3113 malloc\n");
  REQUIRE(CALL(mi_malloc, PTRDIFF_MAX - 3117) == nullptr);
  say("failed 1 %td malloc\n", PTRDIFF_MAX - 3117);
}

// Blocks that end with their heap: no release says so.
void destroy_heap() {
  void* heap = CALL(mi_heap_new);
  keep(CALL(mi_heap_malloc, heap, 3113));
  CALL(mi_heap_destroy, heap);
  say("allocated 1 3113 malloc\n");
}

void use_jemalloc() {
  for (int i = 0; i < many; ++i) CALL(dallocx, keep(CALL(mallocx, 3201, 0)), 0);
  say("allocated %d 3201 malloc\nreleased %d 3201 free\n", many, many);
  void* block = keep(CALL(mallocx, 3202, jemalloc_zero));
  REQUIRE(CALL(xallocx, block, 600'203, 0, 0) < 600'203);
  block = keep(CALL(rallocx, block, 60'201, 0));
  REQUIRE(CALL(xallocx, block, 60'202, 0, 0) >= 60'202);
  REQUIRE(CALL(sallocx, block, 0) >= 60'202 && CALL(nallocx, 60'202, 0) >= 60'202);
  CALL(sdallocx, block, 60'202, 0);
  say("allocated 1 3202 calloc\nallocated 1 60201 realloc\nallocated 1 60202 realloc\n");
  say("failed 1 600203 realloc\nreleased 1 60202 free_sized\n");
  CALL(dallocx, keep(CALL(mallocx, 3204, jemalloc_align_256)), jemalloc_align_256);
  say("allocated 1 3204 aligned_alloc\nreleased 1 3204 free\n");
}

void use_tcmalloc() {
  for (int i = 0; i < many; ++i) CALL(tc_free, keep(CALL(tc_malloc, 3301)));
  say("allocated %d 3301 malloc\nreleased %d 3301 free\n", many, many);
  CALL(tc_free_sized, keep(CALL(tc_realloc, keep(CALL(tc_calloc, 2, 1651)), 60'301)), 60'301);
  CALL(tc_free, keep(CALL(tc_memalign, 256, 3303)));
  void* block = nullptr;
  REQUIRE(CALL(tc_posix_memalign, &block, 128, 3304) == 0 && block != nullptr);
  CALL(tc_free, block);
  CALL(tc_delete, keep(CALL(tc_new, 3305)));
  CALL(tc_deletearray_nothrow, keep(CALL(tc_newarray_nothrow, 3306, std::nothrow)), std::nothrow);
  say("allocated 1 3302 calloc\nallocated 1 60301 realloc\nreleased 1 60301 free_sized\n");
  say("allocated 1 3303 memalign\nallocated 1 3304 posix_memalign\n");
  say("allocated 1 3305 operator new\nreleased 1 3305 operator delete\n");
  say("allocated 1 3306 operator new[](nothrow)\nreleased 1 3306 operator delete[](nothrow)\n");
}

// operator new and its like throw through the hook of the allocator's name,
// and calls made from deeper than the hook was are recorded afterwards.
[[gnu::noinline]] void go_deeper(void* (*allocate)(Size), void (*release)(void*)) {
  volatile char room[4096];
  room[0] = 1;
  release(keep(allocate(3400 + Size{static_cast<unsigned char>(room[0])})));
}
void fail() {
  try {
    keep(tc_new(PTRDIFF_MAX - 3117));
  } catch (const std::bad_alloc&) {
    go_deeper(tc_malloc, tc_free);
    say("failed 1 %td operator new\nallocated 1 3401 malloc\n", PTRDIFF_MAX - 3117);
  }
}

// Closed between, with something in its place that the next copy cannot have.
void open_again(const char* path) {
  for (int i = 0; i < 20; ++i) {
    CALL(dallocx, keep(CALL(mallocx, 3201, 0)), 0);
    dlclose(library);
    if (i % 2 == 0) mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
  }
  say("allocated 20 3201 malloc\nreleased 20 3201 free\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string_view family = argv[1];
  say("note mi_malloc %d\nnote mallocx %d\nnote tc_malloc %d\n", mi_malloc != nullptr, mallocx != nullptr,
      tc_malloc != nullptr);
  if (argc > 2 && std::string_view(argv[2]) == "throws") {
    fail();
    return 0;
  }
  if (argc > 2) {
    library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
  }
  if (family == "mimalloc") use_mimalloc();
  if (family == "heaps") destroy_heap();
  if (family == "jemalloc") use_jemalloc();
  if (family == "tcmalloc") use_tcmalloc();
  if (family == "again") open_again(argv[2]);
  if (family == "weak") say("note found %d\n", dlsym(RTLD_DEFAULT, "mallocx") != nullptr);
  return 0;
}
