// SPDX-License-Identifier: MIT
// The first bytes of a free block are the heap's link, which is looked at by
// default when the block is to be handed out.
// expected: write after free to the block BLOCK of 48 bytes
// by default: write after free to the block BLOCK of USABLE bytes
#include "misused_block.hpp"

int main() {
  constexpr int count = 4000;
  static void* blocks[count];
  for (auto& block : blocks) block = keep(std::malloc(48));
  for (int i = 0; i < count / 2; ++i) std::free(blocks[i]);
  unsigned char* block = tell_with_size(blocks[count / 2]);
  std::free(block);
  std::memset(block, 0x41, 40);
  for (int i = 0; i < 2 * count; ++i) {
    std::free(blocks[i % (count / 2 - 1) + count / 2 + 1] = keep(std::malloc(48)));
  }
  for (int i = 0; i < count; ++i) keep(std::malloc(48));
  return 0;
}
