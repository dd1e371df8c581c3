// SPDX-License-Identifier: MIT
// Planted: pooled decoders keep the room of the largest frame that each has ever seen.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

struct Decoder {
  std::vector<unsigned char> scratch;
  std::vector<int> symbols;
};

[[gnu::noinline]] long decode(Decoder& decoder, std::size_t length) {
  decoder.scratch.clear();
  for (std::size_t byte = 0; byte < length; ++byte) {
    decoder.scratch.push_back(static_cast<unsigned char>(byte));
  }
  return decoder.scratch.back();
}

int main() {
  static std::array<Decoder, 300> pool;
  std::mt19937 random(3);
  long sum = 0;
  for (int frame = 0; frame < 400'000; ++frame) {
    const bool is_key = random() % 2000 == 0;
    sum += decode(pool[random() % pool.size()], is_key ? 400'000 : 200 + random() % 300);
  }
  std::printf("%ld\n", sum);
  std::fflush(stdout);
  std::_Exit(0);
}
