// SPDX-License-Identifier: MIT
// The place of a freed block is not given to the next one of its size, which a second free would free.
// expected: double free of BLOCK, a block of 300000 bytes
// by default: double free of BLOCK, a block of USABLE bytes
#include "misused_block.hpp"

int main() {
  void* block = tell_with_size(std::malloc(300000));
  std::free(block);
  void* other = keep(std::malloc(300000));
  std::free(block);
  std::free(other);
  return 0;
}
