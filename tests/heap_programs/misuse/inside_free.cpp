// SPDX-License-Identifier: MIT
// expected: free of INSIDE, 16 bytes inside the block BLOCK of 100 bytes
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(100));
  std::free(block + 16);
  return 0;
}
