// SPDX-License-Identifier: MIT
// expected: double free of BLOCK, a block of 0 bytes
// by default: double free of BLOCK, a block of 0 bytes
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(0));
  std::free(block);
  std::free(block);
  return 0;
}
