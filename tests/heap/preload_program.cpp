// SPDX-License-Identifier: MIT
// A program with the heap preloaded: threads that hand blocks to each other, and dlopen. Its exit code says
// whether the heap served it.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t count = 20'000;
std::array<char*, count> blocks;

void make(std::size_t first) {
  for (std::size_t i = first; i < count; i += 2) {
    blocks[i] = static_cast<char*>(std::malloc(i % 3000 + 1));
    std::memset(blocks[i], static_cast<int>(i), i % 3000 + 1);
  }
}

bool end(std::size_t first) {
  bool is_whole = true;
  for (std::size_t i = first; i < count; i += 2) {
    is_whole = is_whole && blocks[i][i % 3000] == static_cast<char>(i);
    std::free(blocks[i]);
  }
  return is_whole;
}

}  // namespace

int main() {
  std::thread one(make, 0);
  std::thread other(make, 1);
  one.join();
  other.join();
  bool is_whole[2];
  std::thread ends([&] { is_whole[0] = end(0); });
  is_whole[1] = end(1);
  ends.join();
  void* const library = dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND);
  const bool is_opened = library != nullptr && dlsym(library, "cos") != nullptr;
  const bool is_served = dlsym(RTLD_DEFAULT, "heapwright_heap_create") != nullptr;
  return is_whole[0] && is_whole[1] && is_opened && is_served ? 0 : 1;
}
