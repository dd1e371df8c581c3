// SPDX-License-Identifier: MIT
// expected: overflow behind the block BLOCK, found by free
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(64));
  std::memset(block, 0x41, 200);
  std::free(block);
  return 0;
}
