// SPDX-License-Identifier: MIT
// Gives the collector a reason to look at its pages, and says what the kernel counts then, "note resident":
//
//   scanned trim    malloc_trim gives back half of what it took
//   scanned phase   takes memory in a phase that ends
//   scanned user    started by root, becomes another user and takes memory
//
// Then it rests, and leaves without giving anything back.
#include <fcntl.h>
#include <malloc.h>

#include <string_view>

#include "heapwright/annotate.h"
#include "say.hpp"

namespace {

constexpr std::size_t blocks = 12'000;
constexpr std::size_t block_bytes = 5000;
void* held[blocks];

void take() {
  for (void*& block : held) std::memset(block = keep(std::malloc(block_bytes)), 1, block_bytes);
}

// Read without the heap.
long resident_bytes() {
  static char text[8192];
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  REQUIRE(length > 0);
  const char* const found = std::strstr(text, "RssAnon:");
  return found == nullptr ? 0 : std::atol(found + 8) * 1024;
}

}  // namespace

int main(int, char** arguments) {
  const std::string_view what = arguments[1];
  if (what == "trim") {
    take();
    // Pairs, so that whole pages lie between those that stay.
    for (std::size_t i = 0; i + 2 < blocks; ++i) {
      if (i / 2 % 2 == 0) std::free(held[i]);
    }
    malloc_trim(0);
  } else if (what == "phase") {
    const heapwright::annotated_phase filling("filling");
    take();
  } else {
    REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);
    take();
  }
  say("note resident %ld\n", resident_bytes());
  usleep(3'000'000);
  return 0;
}
