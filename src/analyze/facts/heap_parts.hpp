// SPDX-License-Identifier: MIT
// Where in the address space the allocator keeps blocks, and what free memory lies there.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// A part of the heap, at one of the scans. Of the C library: [heap] is the main heap, 64 MiB that
// are aligned to as much are one of an arena's, blocks with a mapping of their own are "mapped
// blocks". Of other allocators all is one part, "heap". Sums of resident memory:
// used + partly_free + free_page + allocator = resident.
struct HeapPart {
  std::uint32_t scan = 0;  // of Facts::residency
  std::uint32_t kind = 0;  // of Facts::resident_names
  std::uint64_t address = 0;
  std::uint64_t blocks = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t used_bytes = 0;  // usable bytes of live blocks
  std::uint64_t partly_free_bytes = 0;
  std::uint64_t free_page_bytes = 0;
  std::uint64_t allocator_bytes = 0;
  std::uint64_t above_last_bytes = 0;  // pages above those of the last block; of the C library's heaps
  // Free pages where it is less than 64 KiB from block to block: within a slab, perhaps.
  std::uint64_t short_free_bytes = 0;
  std::uint64_t large_free_bytes = 0;  // free pages that held, at any time, a block of 128 KiB or more
};

// Who keeps the end of a part from being given back. The sites of one part come from its end
// downwards: without the blocks of this one and those before it, free_bytes would lie above the
// last block that is left.
struct PartHolder {
  std::uint32_t scan = 0;
  std::uint32_t part = 0;  // of Facts::heap_parts
  std::uint32_t site = 0;
  std::uint64_t blocks = 0;  // of this site, in this part
  std::uint64_t free_bytes = 0;
};

// A free of a block that had a mapping of its own and was larger than any such before: from then
// on the C library takes blocks up to this size from its arenas, unless a setting forbids it.
struct ThresholdRaise {
  std::uint64_t time_ns = 0;
  std::uint64_t bytes = 0;  // the new threshold
  std::uint32_t site = 0;   // that had allocated it
};

// A setting that the program gave its allocator by mallopt: of each parameter the last call, wherever it was.
// Both numbers are ints in two's complement, as they are recorded.
struct AllocatorOption {
  std::uint32_t parameter = 0;  // M_TRIM_THRESHOLD, ...: the C library's number
  std::uint32_t value = 0;
  std::uint64_t time_ns = 0;
};

}  // namespace heapwright::analyze
