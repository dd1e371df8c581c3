// SPDX-License-Identifier: MIT
// expected: overflow behind the block BLOCK, found by realloc
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(24));
  block[24] = 7;
  keep(std::realloc(block, 48));
  return 0;
}
