// SPDX-License-Identifier: MIT
// expected: free of INSIDE, 4 bytes behind the block BLOCK of 100 bytes
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(100));
  std::free(block + 104);
  return 0;
}
