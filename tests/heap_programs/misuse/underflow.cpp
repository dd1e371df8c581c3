// SPDX-License-Identifier: MIT
// expected: bytes were changed before the block BLOCK of 40 bytes, found by free
#include "misused_block.hpp"

int main() {
  unsigned char* before = nullptr;
  unsigned char* block = nullptr;
  // Two that lie side by side, so that there is no guard between them.
  while (block == nullptr || block != before + 48) {
    before = block;
    block = static_cast<unsigned char*>(keep(std::malloc(40)));
  }
  tell(block);
  block[-1] ^= 1;
  std::free(block);
  return 0;
}
