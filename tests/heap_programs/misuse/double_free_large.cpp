// SPDX-License-Identifier: MIT
// expected: double free of BLOCK, a block of 1000000 bytes
// by default: free of BLOCK, which is no block of this heap
#include "misused_block.hpp"

int main() {
  void* block = tell(std::malloc(1000000));
  std::free(block);
  std::free(block);
  return 0;
}
