// SPDX-License-Identifier: MIT
// expected: free of BLOCK with an alignment of 32, a block of 100 bytes with an alignment of 64
#include "misused_block.hpp"

int main() {
  void* block = tell(::operator new (100, std::align_val_t{64}));
  ::operator delete (block, std::align_val_t{32});
  return 0;
}
