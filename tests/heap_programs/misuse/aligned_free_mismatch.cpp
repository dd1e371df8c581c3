// SPDX-License-Identifier: MIT
// expected: free of BLOCK with an alignment of 4096, a block of 256 bytes with an alignment of 64
#include "misused_block.hpp"

int main() {
  void* block = tell(std::aligned_alloc(64, 256));
  free_aligned_sized(block, 4096, 256);
  return 0;
}
