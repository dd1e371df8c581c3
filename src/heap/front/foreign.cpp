// SPDX-License-Identifier: MIT
#include "heap/front/foreign.hpp"

#include <dlfcn.h>
#include <malloc.h>

#include "heap/base/counting.hpp"
#include "heap/base/messages.hpp"

extern "C" {
[[gnu::weak]] void __libc_free(void* block);
[[gnu::weak]] void* __libc_realloc(void* block, size_t bytes);
}

namespace heapwright::heap {

void release_foreign(void* block) noexcept {
  count_reason(counters::Reason::foreign_free);
  if (__libc_free == nullptr) stop_for_invalid_pointer("free", block);
  __libc_free(block);
}

std::size_t usable_bytes_of_foreign(void* block) noexcept {
  using Function = std::size_t(void*);
  static Function* const libc_function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  if (libc_function == nullptr) stop_for_invalid_pointer("malloc_usable_size", block);
  return libc_function(block);
}

void* reallocate_foreign(void* block, std::size_t bytes) noexcept {
  if (__libc_realloc == nullptr) stop_for_invalid_pointer("realloc", block);
  return __libc_realloc(block, bytes);
}

}  // namespace heapwright::heap
