// SPDX-License-Identifier: MIT
// expected: free of INSIDE, 16 bytes inside the block BLOCK of 100 bytes
// by default: free of INSIDE, 16 bytes inside the block BLOCK of USABLE bytes
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell_with_size(std::malloc(100));
  std::free(block + 16);
  return 0;
}
