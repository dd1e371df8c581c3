// SPDX-License-Identifier: MIT
// Calls every recorded entry point once or a few times, each with its own size.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>

#include <new>

#include "say.hpp"

namespace {

void call_c_functions() {
  std::free(keep(std::malloc(3001)));
  say("allocated 1 3001 malloc\nreleased 1 3001 free\n");
  std::free(keep(std::calloc(3, 1003)));
  say("allocated 1 3009 calloc\nreleased 1 3009 free\n");
  void* grown = keep(std::realloc(nullptr, 3011));
  std::free(keep(std::realloc(grown, 3019)));
  say("allocated 1 3011 realloc\nallocated 1 3019 realloc\nreleased 1 3019 free\n");
  std::free(keep(reallocarray(nullptr, 3, 1007)));
  say("allocated 1 3021 reallocarray\nreleased 1 3021 free\n");
}

void call_aligned_functions() {
  void* block = nullptr;
  REQUIRE(posix_memalign(&block, 64, 3023) == 0);
  std::free(keep(block));
  say("allocated 1 3023 posix_memalign\nreleased 1 3023 free\n");
  std::free(keep(std::aligned_alloc(128, 3200)));
  say("allocated 1 3200 aligned_alloc\nreleased 1 3200 free\n");
  std::free(keep(memalign(256, 3037)));
  say("allocated 1 3037 memalign\nreleased 1 3037 free\n");
  std::free(keep(valloc(3041)));
  say("allocated 1 3041 valloc\nreleased 1 3041 free\n");
  std::free(keep(pvalloc(3049)));
  say("allocated 1 3049 pvalloc\nreleased 1 3049 free\n");
}

void call_plain_operators() {
  ::operator delete(keep(::operator new(3061)));
  say("allocated 1 3061 operator new\nreleased 1 3061 operator delete\n");
  ::operator delete[](keep(::operator new[](3067)));
  say("allocated 1 3067 operator new[]\nreleased 1 3067 operator delete[]\n");
  ::operator delete(keep(::operator new(3079, std::nothrow)), std::nothrow);
  say("allocated 1 3079 operator new(nothrow)\nreleased 1 3079 operator delete(nothrow)\n");
  ::operator delete[](keep(::operator new[](3083, std::nothrow)), std::nothrow);
  say("allocated 1 3083 operator new[](nothrow)\nreleased 1 3083 operator delete[](nothrow)\n");
  ::operator delete (keep(::operator new(3089)), std::size_t{3089});
  say("allocated 1 3089 operator new\nreleased 1 3089 operator delete(size)\n");
  ::operator delete[](keep(::operator new[](3109)), std::size_t{3109});
  say("allocated 1 3109 operator new[]\nreleased 1 3109 operator delete[](size)\n");
}

void call_aligned_operators() {
  constexpr std::align_val_t align{64};
  ::operator delete(keep(::operator new(3119, align)), align);
  say("allocated 1 3119 operator new(align)\nreleased 1 3119 operator delete(align)\n");
  ::operator delete[](keep(::operator new[](3121, align)), align);
  say("allocated 1 3121 operator new[](align)\nreleased 1 3121 operator delete[](align)\n");
  ::operator delete(keep(::operator new(3137, align, std::nothrow)), align, std::nothrow);
  say("allocated 1 3137 operator new(align, nothrow)\nreleased 1 3137 operator delete(align, nothrow)\n");
  ::operator delete[](keep(::operator new[](3163, align, std::nothrow)), align, std::nothrow);
  say("allocated 1 3163 operator new[](align, nothrow)\nreleased 1 3163 operator delete[](align, nothrow)\n");
  ::operator delete (keep(::operator new(3167, align)), std::size_t{3167}, align);
  say("allocated 1 3167 operator new(align)\nreleased 1 3167 operator delete(size, align)\n");
  ::operator delete[](keep(::operator new[](3169, align)), std::size_t{3169}, align);
  say("allocated 1 3169 operator new[](align)\nreleased 1 3169 operator delete[](size, align)\n");
}

// C23's forms: Debian 12's libc has neither, so they exist only when a
// recorder or an allocator brings them.
void call_sized_frees() {
  using FreeSized = void (*)(void*, std::size_t);
  using FreeAlignedSized = void (*)(void*, std::size_t, std::size_t);
  const auto free_sized = reinterpret_cast<FreeSized>(dlsym(RTLD_DEFAULT, "free_sized"));
  const auto free_aligned_sized =
      reinterpret_cast<FreeAlignedSized>(dlsym(RTLD_DEFAULT, "free_aligned_sized"));
  if (free_sized == nullptr || free_aligned_sized == nullptr) return;
  free_sized(keep(std::malloc(3181)), 3181);
  say("allocated 1 3181 malloc\nreleased 1 3181 free_sized\n");
  free_aligned_sized(keep(std::aligned_alloc(64, 3264)), 64, 3264);
  say("allocated 1 3264 aligned_alloc\nreleased 1 3264 free_aligned_sized\n");
}

void call_queries() {
  void* block = keep(std::malloc(3187));
  REQUIRE(malloc_usable_size(block) >= 3187);
  std::free(block);
  say("allocated 1 3187 malloc\nreleased 1 3187 free\ncalled 1 malloc_usable_size\n");
  malloc_trim(4096);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  say("called 1 malloc_trim\ncalled 1 mallopt\n");
}

}  // namespace

int main() {
  call_c_functions();
  call_aligned_functions();
  call_plain_operators();
  call_aligned_operators();
  call_sized_frees();
  call_queries();
  return 0;
}
