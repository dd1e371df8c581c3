// SPDX-License-Identifier: MIT
// Over all of the record, which is then what a block has that was never handed out.
// expected: overflow behind the block BLOCK, found by free
#include "misused_block.hpp"

int main() {
  unsigned char* block = tell(std::malloc(24));
  std::memset(block, 0, 32);
  std::free(block);
  return 0;
}
