// SPDX-License-Identifier: MIT
// What was written into a free block is where malloc would go next: it must
// never hand out memory that is not the heap's.
// by default: write after free to a block of USABLE bytes in BLOCK
#include <cstdint>

#include "misused_block.hpp"

int main() {
  static unsigned char target[48];
  unsigned char* block = nullptr;
  for (int i = 0; i < 100; ++i) block = static_cast<unsigned char*>(keep(std::malloc(48)));
  // Slabs of this size begin at multiples of 64 KiB.
  tell(block - reinterpret_cast<std::uintptr_t>(block) % 65536, malloc_usable_size(block));
  std::free(block);
  unsigned char* const to = target;
  std::memcpy(block, &to, sizeof to);
  for (int i = 0; i < 1000; ++i) {
    if (keep(std::malloc(48)) == target) _exit(3);
  }
  return 0;
}
