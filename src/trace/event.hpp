// SPDX-License-Identifier: MIT
// One heap call, as it flows from the collector through the trace to the analysis. A leaf: depends neither on
// its producers nor on its readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "trace/event_kind.hpp"
#include "trace/kernel_work.hpp"

namespace heapwright::trace {

// Calls of at least this duration are slow: a slow release's stack is recorded, and the analysis determines
// the cause. A shorter call may just have been interrupted, which leaves no record.
inline constexpr std::uint32_t slow_call_ns = 20'000;

// Consecutive events of one thread, as columns of equal length.
//
// begin_ns     since the start of the recording; rises within a thread
// duration_ns  of the real call alone; 0 if durations were switched off.
//              Saturates at ~4.29 s.
// size         bytes as requested (calloc: product). Releases: the size the
//              caller stated (sized forms), otherwise 0. mallopt: the
//              parameter; malloc_trim: the pad; sbrk: the increment's
//              two's complement.
// usable       malloc_usable_size of the block; 0 if the call failed or
//              the kind has none. mmap: protection | flags << 8, mprotect:
//              protection, madvise: advice, all in the kernel's numbers (0 in
//              older traces); mremap: the old size.
// address      the block returned, or the block released; 0: the allocation
//              failed, or free(NULL). brk/sbrk: the break after the call.
//              mallopt: the value.
// old_address  realloc and mremap: the old block; otherwise 0
// stack        id of a stack definition (StackTable); 0 = not captured, as for releases that are
//              not slow (Metadata::free_stacks_recorded: all have it)
// alignment_log2  if has_alignment(kind), otherwise 0
//
// Annotations: pool_create and pool_destroy have the pool as address; pool_allocate and pool_free the block
// as address, its bytes as size and the pool as usable; region_named the region as address and size. A name
// follows immediately as annotation_text events: 16 bytes each, the first 8 in size, the others in usable,
// lowest byte first; it ends at the first 0 or with the last of these events.
//
// A failed realloc has address 0 and leaves old_address live if size > 0; realloc(p, 0) releases old_address.
struct EventBatch {
  std::vector<EventKind> kind;
  std::vector<std::uint8_t> alignment_log2;
  std::vector<std::uint32_t> duration_ns;
  std::vector<std::uint32_t> stack;
  std::vector<std::uint64_t> begin_ns;
  std::vector<std::uint64_t> size;
  std::vector<std::uint64_t> usable;
  std::vector<std::uint64_t> address;
  std::vector<std::uint64_t> old_address;
  std::vector<EventKernelWork>
      kernel;  // of the few events that have any, by event; shorter than the other columns

  std::size_t count() const noexcept { return kind.size(); }
  void clear() noexcept;
  void resize(std::size_t count);
};

// A batch's columns as raw pointers, which a loop can keep in registers, since its own stores cannot change
// them. Valid until the batch is resized.
template <class Batch>
struct EventColumns {
  explicit EventColumns(Batch& batch)
      : kind(batch.kind.data()),
        duration_ns(batch.duration_ns.data()),
        stack(batch.stack.data()),
        begin_ns(batch.begin_ns.data()),
        size(batch.size.data()),
        usable(batch.usable.data()),
        address(batch.address.data()),
        old_address(batch.old_address.data()) {}

  template <class Value>
  using Pointer = std::conditional_t<std::is_const_v<Batch>, const Value*, Value*>;

  Pointer<EventKind> kind;
  Pointer<std::uint32_t> duration_ns;
  Pointer<std::uint32_t> stack;
  Pointer<std::uint64_t> begin_ns;
  Pointer<std::uint64_t> size;
  Pointer<std::uint64_t> usable;
  Pointer<std::uint64_t> address;
  Pointer<std::uint64_t> old_address;
};

// One event of a batch.
struct Event {
  EventKind kind = EventKind::none;
  std::uint8_t alignment_log2 = 0;
  std::uint32_t duration_ns = 0;
  std::uint32_t stack = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t size = 0;
  std::uint64_t usable = 0;
  std::uint64_t address = 0;
  std::uint64_t old_address = 0;
};

}  // namespace heapwright::trace
