// SPDX-License-Identifier: MIT
// expected: double free of BLOCK, a block of 300000 bytes
// by default: realloc of BLOCK, which is no block of this heap
#include "misused_block.hpp"

int main() {
  void* block = tell(std::malloc(300000));
  std::free(block);
  keep(std::realloc(block, 400000));
  return 0;
}
