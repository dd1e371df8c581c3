// SPDX-License-Identifier: MIT
// Among many live blocks and free ones.
// expected: double free of BLOCK, a block of 100 bytes
// by default: double free of BLOCK, a block of USABLE bytes
#include "misused_block.hpp"

int main() {
  constexpr int count = 1000;
  static void* blocks[count];
  for (auto& block : blocks) block = keep(std::malloc(100));
  for (int i = 0; i < 50; ++i) std::free(blocks[i]);
  void* block = tell_with_size(blocks[count / 2]);
  std::free(block);
  std::free(block);
  return 0;
}
