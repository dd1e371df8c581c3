// SPDX-License-Identifier: MIT
// expected: overflow behind the block BLOCK, found by realloc
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(24));
  std::memset(block + 24, 7, 8);  // one byte alone may leave a size that could be
  keep(std::realloc(block, 48));
  return 0;
}
