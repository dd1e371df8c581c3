// SPDX-License-Identifier: MIT
// expected: free of BLOCK, which is no block of this heap
// by default: free of BLOCK, which is no block of this heap
#include "misused_block.hpp"

int main() {
  // The heap lies around this block, and nothing was ever at this place.
  auto* block = static_cast<unsigned char*>(std::malloc(100));
  std::free(tell(block + (std::size_t{1} << 30)));
  return 0;
}
