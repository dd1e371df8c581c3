// SPDX-License-Identifier: MIT
// expected: overflow behind the block BLOCK of 100 bytes, found by free
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(100));
  block[100] = 0;
  std::free(block);
  return 0;
}
