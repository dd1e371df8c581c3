// SPDX-License-Identifier: MIT
// expected: realloc of a freed block, BLOCK of 300 bytes
// by default: realloc of a freed block, BLOCK of USABLE bytes
#include "misused_block.hpp"

int main() {
  void* block = tell_with_size(std::malloc(300));
  std::free(block);
  keep(std::realloc(block, 600));
  return 0;
}
