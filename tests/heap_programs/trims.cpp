// SPDX-License-Identifier: MIT
// malloc_trim between frees: what is live keeps its bytes, what is made afterwards can be used, and memory
// between live blocks goes back, too.
//   trims
#include <malloc.h>

#include <algorithm>
#include <random>
#include <vector>

#include "public_names.hpp"
#include "test_seed.hpp"

namespace {

struct Block {
  unsigned char* bytes;
  std::size_t size;
  unsigned char filling;
};

std::minstd_rand randomness;

Block make() {
  const std::size_t size = randomness() % 30 == 0 ? randomness() % 400'000 : randomness() % 5000;
  auto* bytes = static_cast<unsigned char*>(std::malloc(size + 1));
  REQUIRE(bytes != nullptr);
  const auto filling = static_cast<unsigned char>(randomness());
  std::memset(bytes, filling, size + 1);
  return {bytes, size, filling};
}

void check(const Block& block) {
  for (std::size_t i = 0; i <= block.size; ++i) REQUIRE(block.bytes[i] == block.filling);
}

std::size_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  REQUIRE(file != nullptr && std::fscanf(file, "%*u %lu", &pages) == 1);
  std::fclose(file);
  return pages * static_cast<unsigned long>(sysconf(_SC_PAGESIZE));
}

}  // namespace

int main() {
  const auto seed = static_cast<std::uint32_t>(test_seed());
  say("note seed %u\n", seed);
  randomness.seed(seed % 2'000'000'000 + 1);
  std::vector<Block> blocks;
  for (int i = 0; i < 4000; ++i) blocks.push_back(make());
  std::shuffle(blocks.begin(), blocks.end(), randomness);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 150; ++i) {
      check(blocks.back());
      std::free(blocks.back().bytes);
      blocks.pop_back();
    }
    const int result = malloc_trim(round % 3 * 10'000);
    REQUIRE(result == 0 || result == 1);
    for (int i = 0; i < 20; ++i) blocks.push_back(make());
    std::shuffle(blocks.begin(), blocks.end(), randomness);
  }
  for (const Block& block : blocks) check(block);
  for (int i = 0; i < 20'000; ++i) blocks.push_back(make());
  const std::size_t full = resident_bytes();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 50 != 0) std::free(blocks[i].bytes);
  }
  REQUIRE(malloc_trim(0) == 1);
  REQUIRE(resident_bytes() < full / 2);
  for (std::size_t i = 0; i < blocks.size(); i += 50) check(blocks[i]);
  require_valid();
  say("done\n");
  return 0;
}
