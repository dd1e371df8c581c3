// SPDX-License-Identifier: MIT
// expected: double free of BLOCK, a block of 100 bytes
#include "misused_block.hpp"

int main() {
  void* block = tell(std::malloc(100));
  void* moved = keep(std::realloc(block, 10000));
  std::free(block);
  std::free(moved);
  return 0;
}
