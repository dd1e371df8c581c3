// SPDX-License-Identifier: MIT
// expected: overflow behind the block BLOCK of 1000000 bytes, found by free
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(1000000));
  block[1000000] = 1;
  std::free(block);
  return 0;
}
