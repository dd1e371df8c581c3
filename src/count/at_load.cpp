// SPDX-License-Identifier: MIT
// What happens when the library is loaded, before main, and when the process exits.
#include "count/page.hpp"

namespace heapwright::count {
namespace {

// A process that makes no heap call has a page, too.
__attribute__((constructor)) void at_load() { link_process(); }

// Runs after the program's own destructors and exit handlers.
__attribute__((destructor)) void at_unload() { end_process(); }

}  // namespace
}  // namespace heapwright::count
