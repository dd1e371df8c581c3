// SPDX-License-Identifier: MIT
// The C library's allocator is asked, as the block could be its own.
// expected by others: free(): invalid pointer
#include "misused_block.hpp"

int main() {
  alignas(16) static unsigned char memory[64];
  std::free(tell(memory + 16));
  return 0;
}
