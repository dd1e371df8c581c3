// SPDX-License-Identifier: MIT
// A slab of several units: what lies in a later one is not on the fast path.
// expected: free of INSIDE, 1000 bytes inside the block BLOCK of 30000 bytes
// by default: free of INSIDE, 1000 bytes inside the block BLOCK of USABLE bytes
#include "misused_block.hpp"

int main() {
  for (int i = 0; i < 3; ++i) keep(std::malloc(30000));
  unsigned char* block = tell_with_size(std::malloc(30000));
  std::free(block + 1000);
  return 0;
}
