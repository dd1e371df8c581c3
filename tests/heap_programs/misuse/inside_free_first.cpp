// SPDX-License-Identifier: MIT
// The first free of the process in a slab, of the class that the shortest blocks have.
// expected: free of INSIDE, 1 bytes inside the block BLOCK of 8 bytes
// by default: free of INSIDE, 1 bytes inside the block BLOCK of USABLE bytes
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell_with_size(std::malloc(8));
  std::free(block + 1);
  return 0;
}
