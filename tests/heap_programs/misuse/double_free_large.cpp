// SPDX-License-Identifier: MIT
// expected: double free of BLOCK, a block of 1000000 bytes
// by default: double free of BLOCK, a block of USABLE bytes
#include "misused_block.hpp"

int main() {
  void* block = tell_with_size(std::malloc(1000000));
  std::free(block);
  std::free(block);
  return 0;
}
