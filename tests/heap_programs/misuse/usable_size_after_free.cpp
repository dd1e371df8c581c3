// SPDX-License-Identifier: MIT
// expected: malloc_usable_size of a freed block, BLOCK of 70 bytes
#include "misused_block.hpp"

int main() {
  void* block = tell(std::malloc(70));
  std::free(block);
  keep(reinterpret_cast<void*>(malloc_usable_size(block)));
  return 0;
}
