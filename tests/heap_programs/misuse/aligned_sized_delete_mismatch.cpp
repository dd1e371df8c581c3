// SPDX-License-Identifier: MIT
// expected: free of BLOCK with an alignment of 128, a block of 100 bytes with an alignment of 64
#include "misused_block.hpp"

int main() {
  void* block = tell(::operator new[](100, std::align_val_t{64}));
  ::operator delete[](block, 100, std::align_val_t{128});
  return 0;
}
