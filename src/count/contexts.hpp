// SPDX-License-Identifier: MIT
// What threads count in which context. A call costs nothing more for it: the sums of the thread's table are
// taken at a context's begin, and what they are more at its end is the context's.
#pragma once

#include <cstdint>

#include "counters/contexts_section.hpp"

namespace heapwright::count {

// The context that a thread is in: a row of the page; and its table's sums when they were last added to it.
struct ThreadContext {
  counters::ContextRow* row;  // nullptr: in none
  counters::ContextSums since;
};

// The name that the program gave; nullptr: none.
[[gnu::visibility("hidden")]] extern thread_local constinit const char* current_context;

// Adds what the thread has counted in its table since to the context that it is in, if any.
void add_to_context(ThreadContext& context, const counters::CallTable& table) noexcept;

// Has the thread count for current_context from now on. A new name takes a system call, unless that is not
// allowed: then the thread is in none.
void begin_context(ThreadContext& context, const counters::CallTable& table, counters::CountedPage& page,
                   bool may_call_system) noexcept;

}  // namespace heapwright::count
