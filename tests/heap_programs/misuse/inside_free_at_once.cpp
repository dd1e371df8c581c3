// SPDX-License-Identifier: MIT
// In a slab of which most is in use: found by default at once, as nothing follows.
// expected: free of INSIDE, 16 bytes inside the block BLOCK of 48 bytes
// by default: free of INSIDE, 16 bytes inside the block BLOCK of USABLE bytes
#include "misused_block.hpp"

int main() {
  constexpr int count = 4000;
  static void* blocks[count];
  for (auto& block : blocks) block = keep(std::malloc(48));
  for (int i = 0; i < 20; ++i) std::free(blocks[i]);
  unsigned char* block = tell_with_size(blocks[count / 2]);
  std::free(block + 16);
  std::_Exit(0);
}
