// SPDX-License-Identifier: MIT
// Switches its own recording off and on, with blocks that cross the borders.
#include "heapwright/record.h"
#include "say.hpp"

int main() {
  void* freed_in_pause = keep(std::malloc(5001));
  keep(std::malloc(5002));  // never freed; lives at the pause
  heapwright_stop_recording();
  std::free(freed_in_pause);
  void* from_pause = keep(std::malloc(6001));
  heapwright_start_recording();
  std::free(from_pause);
  for (int pause = 0; pause < 50; ++pause) {
    heapwright_stop_recording();
    heapwright_start_recording();
  }
  keep(std::malloc(5003));  // never freed, seen to the end
  return 0;
}
