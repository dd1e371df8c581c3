// SPDX-License-Identifier: MIT
// A plain single-threaded program of malloc/free pairs for the comparison
// with heaptrack_print: half of the blocks die at once, half replace one of
// 65,536 older ones.
//
//   pairs [rounds]    two pairs a round
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::uint64_t kept_blocks = 65536;
void* volatile kept[kept_blocks];
std::uint64_t random_state = 88172645463325252ULL;

std::uint64_t next_random() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

// One call site per number.
template <int number>
[[gnu::noinline]] void* allocate(std::size_t bytes) {
  void* volatile block = std::malloc(bytes + number);
  return block;
}

[[gnu::noinline]] void* allocate_at(std::uint64_t site, std::size_t bytes) {
  switch (site % 8) {
    case 0:
      return allocate<0>(bytes);
    case 1:
      return allocate<1>(bytes);
    case 2:
      return allocate<2>(bytes);
    case 3:
      return allocate<3>(bytes);
    case 4:
      return allocate<4>(bytes);
    case 5:
      return allocate<5>(bytes);
    case 6:
      return allocate<6>(bytes);
    default:
      return allocate<7>(bytes);
  }
}

[[gnu::noinline]] void do_round(std::uint64_t round) {
  const auto dice = next_random();
  void* stays = allocate_at(round, 16 + dice % 128);
  std::free(allocate_at(round + 3, 200));
  const auto index = (dice >> 20) % kept_blocks;
  std::free(kept[index]);
  kept[index] = stays;
}

}  // namespace

int main(int argc, char** argv) {
  const auto rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 6'000'000;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    do_round(round);
  }
  return 0;
}
