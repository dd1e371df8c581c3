// SPDX-License-Identifier: MIT
// A block with pages of its own, whose alignment is in its line.
// expected: free of BLOCK with an alignment of 64, a block of 1000000 bytes with an alignment of 131072
#include "misused_block.hpp"

int main() {
  void* block = tell(std::aligned_alloc(131072, 1000000));
  free_aligned_sized(block, 64, 1000000);
  return 0;
}
