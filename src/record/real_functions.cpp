// SPDX-License-Identifier: MIT
#include "record/real_functions.hpp"

#include <dlfcn.h>

#include <cstdint>

extern "C" [[gnu::weak]] int _dl_find_object(void*, dl_find_object*) noexcept;

namespace heapwright::record {

constinit RealFunctions real{};

namespace {

struct CodeRange {
  std::uintptr_t start;
  std::uintptr_t end;
};
CodeRange allocator_code;
CodeRange operator_code;
CodeRange own_code;

CodeRange code_around(void* function) noexcept {
  dl_find_object object;
  if (_dl_find_object == nullptr || _dl_find_object(function, &object) != 0) return {0, UINTPTR_MAX};
  return {reinterpret_cast<std::uintptr_t>(object.dlfo_map_start),
          reinterpret_cast<std::uintptr_t>(object.dlfo_map_end)};
}

template <typename Function>
void find(Function*& function, const char* name) noexcept {
  function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void find_real_functions() noexcept {
  // malloc last: as soon as it is set, nested calls stop using the early pool
  // and rely on every other pointer.
  find(real.calloc, "calloc");
  find(real.realloc, "realloc");
  find(real.reallocarray, "reallocarray");
  find(real.free, "free");
  find(real.posix_memalign, "posix_memalign");
  find(real.aligned_alloc, "aligned_alloc");
  find(real.memalign, "memalign");
  find(real.valloc, "valloc");
  find(real.pvalloc, "pvalloc");
  find(real.malloc_usable_size, "malloc_usable_size");
  find(real.free_sized, "free_sized");
  find(real.free_aligned_sized, "free_aligned_sized");
  find(real.malloc_trim, "malloc_trim");
  find(real.mallopt, "mallopt");
  find(real.mmap, "mmap");
  find(real.munmap, "munmap");
  find(real.mremap, "mremap");
  find(real.brk, "brk");
  find(real.sbrk, "sbrk");
  find(real.dlclose, "dlclose");
  find(real.malloc, "malloc");
  allocator_code = code_around(reinterpret_cast<void*>(real.malloc));
  own_code = code_around(reinterpret_cast<void*>(&find_real_functions));
  // Some are absent in every libc; the program must not find our failures.
  dlerror();
}

void* find_operator(const char* mangled_name) noexcept {
  void* next = dlsym(RTLD_NEXT, mangled_name);
  if (next == nullptr) {
    // Loaded with RTLD_LOCAL, so not in our search order; its callers are
    // bound to us all the same, because we come first in the global scope.
    void* library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) library = dlopen("libc++.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library != nullptr) next = dlsym(library, mangled_name);
    dlerror();
  }
  if (next != nullptr) operator_code = code_around(next);
  return next;
}

bool is_call_of_allocator(const void* return_address) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(return_address);
  const auto is_in = [address](CodeRange code) { return address - code.start < code.end - code.start; };
  // A real function that ends in a jump (operator delete to free) leaves the
  // return address into the hook that called it.
  return is_in(allocator_code) || is_in(operator_code) || is_in(own_code);
}

const char* allocator_object() noexcept {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(real.malloc), &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

}  // namespace heapwright::record
