// SPDX-License-Identifier: MIT
// HEAPWRIGHT_HEAP_HARDENED=1: every call comes here. Each block ends in a sealed
// record of its size, and the bytes between the size and the record are filled. Large
// blocks and one small one in 5000 lie between guard pages. Freed blocks are zeroed
// and wait in a quarantine, where large ones are inaccessible. Misuse is reported in
// one line on stderr, and the process is stopped:
//
//   double free of 0x7f12, a block of 24 bytes
//   realloc of a freed block, 0x7f12 of 24 bytes
//   free of 0x7f1a, 8 bytes inside the block 0x7f12 of 24 bytes
//   free of 0x7f2a, 0 bytes behind the block 0x7f12 of 24 bytes
//   overflow behind the block 0x7f12 of 24 bytes, found by free
//   bytes were changed before the block 0x7f12 of 24 bytes, found by free
//   write after free to the block 0x7f12 of 24 bytes
//   sized free of 0x7f12 with 32 bytes, a block of 24 bytes
//   free of 0x7f12 with an alignment of 32, a block of 24 bytes with an alignment of 64
//   free of 0x7f12, which is no block of this heap
//   free of 0x7f12, a block of 24 bytes of a heap that was destroyed
#pragma once

#include <cstddef>
#include <cstdint>

struct heapwright_heap;

namespace heapwright::heap {

void* hardened_allocate(std::size_t bytes, std::size_t alignment) noexcept;
void* hardened_allocate_in(heapwright_heap* heap, std::size_t bytes, std::size_t alignment) noexcept;
void hardened_release(void* block) noexcept;
// Checks the size and alignment passed by the caller first.
inline constexpr std::size_t unsaid_bytes = SIZE_MAX;
void hardened_release_sized(void* block, std::size_t bytes, std::size_t alignment) noexcept;
void* hardened_reallocate(void* block, std::size_t bytes) noexcept;
std::size_t hardened_usable_bytes(void* block) noexcept;

}  // namespace heapwright::heap
