// SPDX-License-Identifier: MIT
// Many frees between the two: found by default when the slab is mostly free
// and its pages are looked at.
// expected: double free of BLOCK, a block of 64 bytes
// by default: double free of BLOCK, a block of USABLE bytes
#include "misused_block.hpp"

int main() {
  constexpr int count = 100000;
  static void* blocks[count];
  for (auto& block : blocks) block = keep(std::malloc(64));
  // One of every hundred stays.
  void* block = tell_with_size(blocks[5 * count / 10]);
  for (int i = 0; i < count; ++i) {
    if (i % 100 != 50) std::free(blocks[i]);
    if (i == 5 * count / 10 + 300) std::free(block);
  }
  heapwright_heap_maintain(100000);
  return 0;
}
