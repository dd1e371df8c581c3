// SPDX-License-Identifier: MIT
// Where in the address space the allocator keeps blocks, and the free memory there.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// A part of the heap, at one of the scans. For the C library: [heap] is the main heap; each aligned 64 MiB
// range is a heap of an arena; blocks with their own mapping are "mapped blocks". Other allocators have one
// part, "heap". Sums of resident memory: used + partly_free + free_page + allocator = resident.
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
  std::uint64_t above_last_bytes = 0;  // pages above that of the last block; only in glibc heaps
  // Free pages in gaps of less than 64 KiB between blocks: possibly within a slab.
  std::uint64_t short_free_bytes = 0;
  std::uint64_t large_free_bytes = 0;  // free pages that at any time held a block of 128 KiB or more
};

// The sites that keep the end of a part from being trimmed. The sites of one part are listed from its end
// downwards: without the blocks of this site and those before it, free_bytes would be above the last
// remaining block.
struct PartHolder {
  std::uint32_t scan = 0;
  std::uint32_t part = 0;  // of Facts::heap_parts
  std::uint32_t site = 0;
  std::uint64_t blocks = 0;  // of this site, in this part
  std::uint64_t free_bytes = 0;
};

// A free of a block that had its own mapping and was larger than any such block before: from then on the C
// library takes blocks up to this size from its arenas, unless a setting prevents it.
struct ThresholdRaise {
  std::uint64_t time_ns = 0;
  std::uint64_t bytes = 0;  // the new threshold
  std::uint32_t site = 0;   // that had allocated the block
};

// An allocator setting that the program made by mallopt: the last call for each parameter, from anywhere.
// Both numbers are ints in two's complement, as recorded.
struct AllocatorOption {
  std::uint32_t parameter = 0;  // M_TRIM_THRESHOLD, ...: the C library's number
  std::uint32_t value = 0;
  std::uint64_t time_ns = 0;
};

}  // namespace heapwright::analyze
