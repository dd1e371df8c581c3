// SPDX-License-Identifier: MIT
// One free between the two, and malloc takes from that list next, which is a circle: found by
// default when it comes to the same block again. Nothing is written into the blocks.
// expected: double free of BLOCK, a block of 48 bytes
// by default: double free of BLOCK, a block of USABLE bytes
#include "misused_block.hpp"

int main() {
  constexpr int count = 400;
  static void* blocks[count];
  for (auto& block : blocks) block = keep(std::malloc(48));
  void* block = tell_with_size(blocks[count / 2]);
  std::free(block);
  std::free(blocks[count / 2 + 1]);
  std::free(block);
  for (int i = 0; i < 100 * count; ++i) keep(std::malloc(48));
  return 0;
}
