// SPDX-License-Identifier: MIT
// Heap calls after main: atexit, a static object's destructor, and a library
// destructor, the last code of the program to run.
#include "say.hpp"

namespace {

struct Owner {
  void* block = std::malloc(3011);
  ~Owner() {
    std::free(block);
    say("released 1 3011 free\n");
  }
};
Owner owner;

void* late_block = nullptr;

[[gnu::destructor]] void free_last() {
  std::free(late_block);
  std::free(keep(std::malloc(3019)));
  say("released 1 3023 free\nallocated 1 3019 malloc\nreleased 1 3019 free\n");
}

}  // namespace

int main() {
  static void* at_exit_block = std::malloc(3001);
  late_block = std::malloc(3023);
  std::atexit([] {
    std::free(at_exit_block);
    say("released 1 3001 free\n");
  });
  say("allocated 1 3001 malloc\nallocated 1 3011 malloc\nallocated 1 3023 malloc\n");
  return 0;
}
