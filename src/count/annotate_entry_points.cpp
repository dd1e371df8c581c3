// SPDX-License-Identifier: MIT
// What a program says of its contexts: include/heapwright/annotate.h.
#include "count/confinement.hpp"
#include "count/contexts.hpp"
#include "count/hooks.hpp"
#include "count/page.hpp"
#include "count/thread.hpp"

namespace heapwright::count {

// Threads that share a table are in no context.
HEAPWRIGHT_HOOK const char* heapwright_annotate_context(const char* name) noexcept {
  const char* const before = current_context;
  current_context = name;
  const bool is_linked = wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active || link_process();
  // A thread without a table begins with its context.
  if (is_linked && !is_aside() && current_thread->table != nullptr) {
    begin_context(current_thread->context, *current_thread->table, *page, !is_confined());
  }
  return before;
}

}  // namespace heapwright::count
