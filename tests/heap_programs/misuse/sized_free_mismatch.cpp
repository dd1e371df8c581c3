// SPDX-License-Identifier: MIT
// expected: sized free of BLOCK with 99 bytes, a block of 100 bytes
#include "misused_block.hpp"

int main() {
  void* block = tell(std::malloc(100));
  free_sized(block, 99);
  return 0;
}
