// SPDX-License-Identifier: MIT
// expected: realloc of a freed block, BLOCK of 0 bytes
// by default: realloc of a freed block, BLOCK of 0 bytes
#include "misused_block.hpp"

int main() {
  void* block = tell(std::malloc(0));
  std::free(block);
  keep(std::realloc(block, 100));
  return 0;
}
