// SPDX-License-Identifier: MIT
// Large buffers, one after the other; as_is wants MALLOC_MMAP_THRESHOLD_ in the environment.
#include <malloc.h>

#include <memory>

#include "modes.hpp"

namespace {

constexpr int buffers = 20'000;
constexpr std::size_t at_once = 4;

[[gnu::noinline]] std::unique_ptr<char[]> site(std::size_t size) {
  return std::unique_ptr<char[]>(new char[size]);
}

void work() {
  std::unique_ptr<char[]> open[at_once];
  for (std::size_t round = 0; round < buffers; ++round) {
    auto& place = open[round % at_once];
    place = nullptr;
    place = site(300'000);
    place[0] = 1;
    modes::use(place.get());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, work,
      [] {
        mallopt(M_MMAP_THRESHOLD, 1 << 30);
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
        work();
      },
      work);
}
