// SPDX-License-Identifier: MIT
// The place of a block beside others that nobody was given yet.
// expected: free of BLOCK, which is no block of this heap
#include "misused_block.hpp"

int main() {
  // The second of a page's blocks is made with all that follow.
  auto* first = static_cast<unsigned char*>(std::malloc(100));
  auto* second = static_cast<unsigned char*>(keep(std::malloc(100)));
  std::free(tell(second + (second - first)));
  return 0;
}
