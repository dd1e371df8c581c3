// SPDX-License-Identifier: MIT
// The link of a free block is overwritten by zeros, which end no list: links are encoded.
// by default: write after free to a block of USABLE bytes in BLOCK
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
