// SPDX-License-Identifier: MIT
// A program whose every block is known: twelve sites with sizes from 24 bytes
// to 2 MB, some of whose blocks stay. No clock, no thread, no random number
// that is not the same each time. See bench/recorder/intervals.py.
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

void* volatile kept;

struct Site {
  std::size_t smallest;
  std::size_t largest;
  int blocks;
  int every_nth_stays;
};

// One function each, so that a site has a name of its own.
template <int number>
[[gnu::noinline]] void* site(std::size_t size) {
  kept = std::malloc(size);
  return kept;
}

template <int number>
void run(const Site& of) {
  std::uint64_t state = 88172645463325252ULL + number;
  for (int block = 0; block < of.blocks; ++block) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    void* const memory = site<number>(of.smallest + state % (of.largest - of.smallest + 1));
    if (block % of.every_nth_stays != 0) std::free(memory);
  }
}

}  // namespace

int main() {
  run<0>({24, 24, 400'000, 10});
  run<1>({16, 128, 200'000, 50});
  run<2>({100, 1000, 60'000, 4});
  run<3>({4000, 4200, 10'000, 3});
  run<4>({512, 65536, 3000, 7});
  run<5>({16384, 16384, 2000, 2});
  run<6>({60'000, 70'000, 1500, 5});
  run<7>({131072, 131072, 300, 2});
  run<8>({200'000, 600'000, 100, 4});
  run<9>({1'000'000, 2'000'000, 40, 2});
  run<10>({64, 262144, 400, 9});
  run<11>({32, 64, 100'000, 1000});
  return 0;
}
