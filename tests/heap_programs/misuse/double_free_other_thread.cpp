// SPDX-License-Identifier: MIT
// expected: double free of BLOCK, a block of 5000 bytes
#include <thread>

#include "misused_block.hpp"

int main() {
  void* block = tell(std::malloc(5000));
  std::thread([=] { std::free(block); }).join();
  std::free(block);
  return 0;
}
