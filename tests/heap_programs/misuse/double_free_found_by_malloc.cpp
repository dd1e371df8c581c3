// SPDX-License-Identifier: MIT
// One free between the two: found by default when the freed blocks are to be
// handed out again.
// expected: double free of BLOCK, a block of 48 bytes
// by default: double free of BLOCK, a block of USABLE bytes
#include "misused_block.hpp"

int main() {
  constexpr int count = 4000;
  static void* blocks[count];
  for (auto& block : blocks) block = keep(std::malloc(48));
  for (int i = 0; i < count / 2; ++i) std::free(blocks[i]);
  void* block = tell_with_size(blocks[count / 2]);
  std::free(block);
  std::free(blocks[count / 2 + 1]);
  std::free(block);
  for (int i = 0; i < count; ++i) keep(std::malloc(48));
  return 0;
}
