// SPDX-License-Identifier: MIT
// What happens when the library is loaded, before main, and when the process exits.
#include <dlfcn.h>

#include "count/page.hpp"

namespace heapwright::count {
namespace {

// A process that makes no heap call has a page, too.
__attribute__((constructor)) void at_load() { link_process(); }

// Runs after the program's own destructors and exit handlers.
__attribute__((destructor)) void at_unload() { end_process(); }

}  // namespace
}  // namespace heapwright::count

// For a recorder that is preloaded before us and wants to name the allocator. It looks up its own functions
// now, and takes what libc allocates for that for nobody's. In a call of the program's it would count as
// lost.
extern "C" __attribute__((visibility("default"))) void* heapwright_counted_malloc() noexcept {
  heapwright::count::link_process();
  void* next = dlsym(RTLD_NEXT, "malloc");
  asm("" : "+r"(next));  // no tail call: dlsym() would take the recorder for its caller
  return next;
}
