// SPDX-License-Identifier: MIT
// Without an alignment, but made with one.
// expected: free of BLOCK with an alignment of 16, a block of 100 bytes with an alignment of 64
#include "misused_block.hpp"

int main() {
  void* block = tell(::operator new (100, std::align_val_t{64}));
  ::operator delete (block, std::size_t{100});
  return 0;
}
