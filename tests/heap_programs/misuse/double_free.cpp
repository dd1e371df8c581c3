// SPDX-License-Identifier: MIT
// expected: double free of BLOCK, a block of 100 bytes
#include "misused_block.hpp"

int main() {
  void* block = tell(std::malloc(100));
  std::free(block);
  std::free(block);
  return 0;
}
