// SPDX-License-Identifier: MIT
// A new_handler gives up a reserve and then itself: operator new tries again
// and throws in the end, exactly as without a recorder.
#include <cstdint>
#include <new>

#include "say.hpp"

namespace {

void* reserve = nullptr;
int handled = 0;

void give_up_reserve() {
  ++handled;
  std::free(reserve);
  reserve = nullptr;
  std::set_new_handler(nullptr);
}

}  // namespace

int main() {
  reserve = keep(std::malloc(3001));
  std::set_new_handler(give_up_reserve);
  volatile std::size_t huge = PTRDIFF_MAX;
  bool has_thrown = false;
  try {
    keep(::operator new(huge));
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  REQUIRE(has_thrown && handled == 1);
  REQUIRE(::operator new(huge, std::nothrow) == nullptr);
  say("allocated 1 3001 malloc\nreleased 1 3001 free\n");
  say("failed 1 %zu operator new\nfailed 1 %zu operator new(nothrow)\n", static_cast<std::size_t>(huge),
      static_cast<std::size_t>(huge));
  return 0;
}
