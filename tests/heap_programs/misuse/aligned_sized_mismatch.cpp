// SPDX-License-Identifier: MIT
// expected: sized free of BLOCK with 128 bytes, a block of 256 bytes
#include "misused_block.hpp"

int main() {
  void* block = tell(std::aligned_alloc(64, 256));
  free_aligned_sized(block, 64, 128);
  return 0;
}
