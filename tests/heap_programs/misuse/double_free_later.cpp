// SPDX-License-Identifier: MIT
// expected: double free of BLOCK, a block of 40 bytes
#include "misused_block.hpp"

int main() {
  void* block = tell(std::malloc(40));
  std::free(block);
  for (int i = 0; i < 1000; ++i) std::free(std::malloc(40));
  std::free(block);
  return 0;
}
