// SPDX-License-Identifier: MIT
// expected: double free of BLOCK, a block of 70 bytes
#include "misused_block.hpp"

int main() {
  void* block = tell(std::malloc(70));
  std::free(block);
  keep(reinterpret_cast<void*>(malloc_usable_size(block)));
  return 0;
}
