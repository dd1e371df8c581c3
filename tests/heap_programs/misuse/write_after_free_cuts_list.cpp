// SPDX-License-Identifier: MIT
// The link of a free block is overwritten by zeros: what was freed before it is
// lost, which is found by default when the list has come to that end.
// by default: free blocks of USABLE bytes in BLOCK were lost by a write after free or a double free
#include <cstdint>

#include "misused_block.hpp"

int main() {
  constexpr int count = 2000;
  static void* blocks[count];
  for (auto& block : blocks) block = keep(std::malloc(48));
  auto* last = static_cast<unsigned char*>(blocks[count - 1]);
  // Slabs of this size begin at multiples of 64 KiB.
  tell(last - reinterpret_cast<std::uintptr_t>(last) % 65536, malloc_usable_size(last));
  for (int i = count - 20; i < count; ++i) std::free(blocks[i]);
  std::memset(blocks[count - 15], 0, 16);
  for (int i = 0; i < count; ++i) keep(std::malloc(48));
  return 0;
}
