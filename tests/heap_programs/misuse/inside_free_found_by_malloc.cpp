// SPDX-License-Identifier: MIT
// Found by default when the freed blocks are to be handed out again.
// expected: free of INSIDE, 16 bytes inside the block BLOCK of 48 bytes
// by default: free of INSIDE, 16 bytes inside the block BLOCK of USABLE bytes
#include "misused_block.hpp"

int main() {
  constexpr int count = 4000;
  static void* blocks[count];
  for (auto& block : blocks) block = keep(std::malloc(48));
  unsigned char* block = tell_with_size(blocks[count / 2]);
  for (int i = 0; i < count / 2; ++i) std::free(blocks[i]);
  std::free(block + 16);
  for (int i = 0; i < count; ++i) keep(std::malloc(48));
  return 0;
}
