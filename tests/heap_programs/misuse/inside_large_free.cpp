// SPDX-License-Identifier: MIT
// expected: free of INSIDE, 70000 bytes inside the block BLOCK of 1000000 bytes
// by default: free of INSIDE, 70000 bytes inside the block BLOCK of USABLE bytes
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell_with_size(std::malloc(1000000));
  std::free(block + 70000);
  return 0;
}
