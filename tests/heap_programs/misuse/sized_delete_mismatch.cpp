// SPDX-License-Identifier: MIT
// expected: sized free of BLOCK with 8 bytes, a block of 64 bytes
#include "misused_block.hpp"

int main() {
  void* block = tell(::operator new(64));
  ::operator delete (block, std::size_t{8});
  return 0;
}
