// SPDX-License-Identifier: MIT
// expected: free of INSIDE, which is no block of this heap
// by default: free of INSIDE, which is no block of this heap
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(0));
  std::free(block + 1);
  return 0;
}
