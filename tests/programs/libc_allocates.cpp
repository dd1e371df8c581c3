// SPDX-License-Identifier: MIT
// Blocks that libc allocates for the program: strdup, asprintf, getline.
#include "say.hpp"

int main() {
  static char text[3001];
  std::memset(text, 'x', sizeof text - 1);
  for (int i = 0; i < 10; ++i) std::free(keep(strdup(text)));
  say("allocated 10 3001 malloc\nreleased 10 3001 free\n");

  char* line = nullptr;
  std::size_t capacity = 0;
  FILE* file = std::fopen("/proc/self/maps", "r");
  REQUIRE(file != nullptr && getline(&line, &capacity, file) > 0);
  std::fclose(file);
  std::free(line);
  char* printed = nullptr;
  REQUIRE(asprintf(&printed, "%s%s", text, text) == 6000);
  std::free(keep(printed));
  return 0;
}
