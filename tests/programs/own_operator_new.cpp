// SPDX-License-Identifier: MIT
// The program replaces operator new itself: the hook's is never called, the
// malloc below it is.
#include <new>

#include "say.hpp"

void* operator new(std::size_t size) { return std::malloc(size); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

int main() {
  for (int i = 0; i < 10; ++i) ::operator delete(keep(::operator new(3001)));
  say("allocated 10 3001 malloc\nreleased 10 3001 free\n");
  return 0;
}
