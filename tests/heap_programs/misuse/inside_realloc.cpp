// SPDX-License-Identifier: MIT
// expected: realloc of INSIDE, 32 bytes inside the block BLOCK of 100 bytes
// by default: realloc of INSIDE, 32 bytes inside the block BLOCK of USABLE bytes
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell_with_size(std::malloc(100));
  keep(std::realloc(block + 32, 200));
  return 0;
}
