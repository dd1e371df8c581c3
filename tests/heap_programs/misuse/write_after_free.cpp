// SPDX-License-Identifier: MIT
// expected: write after free to the block BLOCK of 200 bytes
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(200));
  std::free(block);
  block[50] = 1;
  for (int i = 0; i < 100000; ++i) std::free(keep(std::malloc(200)));
  return 0;
}
