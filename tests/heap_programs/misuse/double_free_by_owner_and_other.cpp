// SPDX-License-Identifier: MIT
// The second free is another thread's: found by default when it hands the block over, here at its end.
// expected: double free of BLOCK, a block of 48 bytes
// by default: double free of BLOCK, a block of USABLE bytes
#include <thread>

#include "misused_block.hpp"

int main() {
  for (int i = 0; i < 1000; ++i) keep(std::malloc(48));
  void* block = tell_with_size(std::malloc(48));
  std::free(keep(std::malloc(48)));
  std::free(block);
  std::thread([=] { std::free(block); }).join();
  std::_Exit(0);
}
