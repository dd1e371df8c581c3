// SPDX-License-Identifier: MIT
// Over all of the record, which is then what a block has that was never handed out.
// expected: overflow behind the block BLOCK, found by free
#include <cstdint>

#include "misused_block.hpp"

namespace {

// One in some 600 blocks is put at the end of a page, before a guard, and has its record elsewhere.
void* block_with_record_behind() {
  constexpr std::uintptr_t page_bytes = 4096;
  void* block = std::malloc(24);
  while ((reinterpret_cast<std::uintptr_t>(block) + 32) % page_bytes == 0) block = std::malloc(24);
  return block;
}

}  // namespace

int main() {
  unsigned char* block = tell(block_with_record_behind());
  std::memset(block, 0, 32);
  std::free(block);
  return 0;
}
