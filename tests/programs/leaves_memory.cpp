// SPDX-License-Identifier: MIT
// Touches argv[1] MiB and ends at once, without giving them back.
#include <cstdlib>
#include <cstring>

int main(int, char** arguments) {
  const std::size_t bytes = std::strtoull(arguments[1], nullptr, 10) << 20;
  void* const block = std::malloc(bytes);
  std::memset(block, 1, bytes);
  asm volatile("" : : "r"(block) : "memory");
  return 0;
}
