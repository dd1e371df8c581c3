// SPDX-License-Identifier: MIT
// Runs when the library is loaded, before main, and when the process exits.
#include <dlfcn.h>

#include "count/page.hpp"

namespace heapwright::count {
namespace {

// A process without heap calls has a page, too.
__attribute__((constructor)) void at_load() { link_process(); }

// Runs after the program's own destructors and exit handlers.
__attribute__((destructor)) void at_unload() { end_process(); }

}  // namespace
}  // namespace heapwright::count

// For a recorder that is preloaded before us and wants to name the allocator. It looks up its own functions
// now, and ignores what libc allocates for that. Inside a call of the program these would count as lost.
extern "C" __attribute__((visibility("default"))) void* heapwright_counted_malloc() noexcept {
  heapwright::count::link_process();
  void* next = dlsym(RTLD_NEXT, "malloc");
  asm("" : "+r"(next));  // prevents a tail call, in which dlsym() would see the recorder as its caller
  return next;
}
