// SPDX-License-Identifier: MIT
// expected: double free of BLOCK, a block of 200 bytes
// by default: double free of BLOCK, a block of USABLE bytes
#include <thread>

#include "misused_block.hpp"

int main() {
  for (int i = 0; i < 100; ++i) keep(std::malloc(200));
  void* block = tell_with_size(std::malloc(200));
  std::thread([=] {
    std::free(block);
    std::free(block);
  }).join();
  return 0;
}
