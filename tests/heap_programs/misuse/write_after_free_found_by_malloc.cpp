// SPDX-License-Identifier: MIT
// Behind the link and before the record, so that it is found when the block is
// about to be handed out again.
// expected: write after free to the block BLOCK of 400 bytes
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(400));
  std::free(block);
  block[399] = 1;
  for (int i = 0; i < 100'000; ++i) std::free(keep(std::malloc(400)));
  return 0;
}
