// SPDX-License-Identifier: MIT
// expected: free of INSIDE, 70000 bytes inside the block BLOCK of 1000000 bytes
// by default: free of INSIDE, which is no block of this heap
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(1000000));
  std::free(block + 70000);
  return 0;
}
