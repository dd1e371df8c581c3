// SPDX-License-Identifier: MIT
// expected: free of BLOCK, a block of 100 bytes of a heap that was destroyed
#include "misused_block.hpp"

int main() {
  heapwright_heap* heap = heapwright_heap_create("short-lived");
  void* block = tell(heapwright_heap_allocate(heap, 100, 16));
  heapwright_heap_destroy(heap);
  std::free(block);
  return 0;
}
