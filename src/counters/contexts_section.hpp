// SPDX-License-Identifier: MIT
// What a process calls in each context that it names (include/heapwright/annotate.h), as other processes read
// it (docs/counters.md). Fields are appended, never moved.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/calls_section.hpp"

namespace heapwright::counters {

inline constexpr std::uint32_t contexts_section_version = 2;  // 1: without released_bytes
// The first row is for all contexts that come when the others are taken.
inline constexpr std::size_t context_rows = 256;
inline constexpr std::size_t context_name_bytes = 120;  // the rest is cut off

enum ContextState : std::uint32_t {
  context_unused = 0,
  context_claimed = 1,  // its name is being written
  context_named = 2,
};

// Sums over the tables of all threads for the time in which they were in the context; a thread adds to them
// at the context's end and every few calls.
struct ContextSums {
  std::uint64_t calls;  // of all functions
  std::uint64_t made;   // of these, those that allocate
  std::uint64_t requested_bytes;
  std::uint64_t usable_bytes;
  std::uint64_t timed_calls;
  std::uint64_t timed_ns;        // CPU time of these
  std::uint64_t released_bytes;  // usable, of blocks released in it, whoever made them
};

// Rows do not cross pages of the kernel's.
struct alignas(256) ContextRow {
  std::uint64_t begun[2];  // when it was first used: seconds, ns of CLOCK_MONOTONIC
  std::uint32_t state;     // ContextState
  std::uint32_t unused;
  ContextSums sums;
  char name[context_name_bytes];  // without its end if it is that long
};
static_assert(sizeof(ContextRow) == 256);

struct ContextsSection {
  std::uint32_t row_count;
  std::uint32_t row_bytes;    // sizeof(ContextRow)
  std::uint32_t rows_offset;  // from the start of the page
  std::uint32_t unused;
};

// The page of a process that counts by itself.
struct CountedPage {
  CallsPage calls;
  ContextsSection contexts;
  ContextRow rows[context_rows];
};
static_assert(offsetof(CountedPage, calls) == 0);

}  // namespace heapwright::counters
