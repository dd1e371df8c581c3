// SPDX-License-Identifier: MIT
// Sizes where arithmetic goes wrong: around 0, pages, slabs, half of all
// addresses and all of them, through every function that takes one. A block
// has the bytes that were asked for, all of them can be written, and what
// cannot be served is refused.
//   sizes ROUNDS
#include <malloc.h>

#include <cstdint>
#include <new>
#include <random>

#include "public_names.hpp"
#include "test_seed.hpp"

namespace {

std::mt19937_64 random_numbers;
std::size_t draw(std::size_t limit) { return random_numbers() % limit; }

std::size_t draw_size() {
  static constexpr std::size_t centres[] = {0,
                                            4096,
                                            65'536,
                                            std::size_t{16} << 20,
                                            SIZE_MAX / 2 + 1,
                                            SIZE_MAX / 4 + 1,
                                            SIZE_MAX - 65'536,
                                            SIZE_MAX - 4096,
                                            0};  // and so the largest of all, below it
  const std::size_t spread = draw(3) == 0 ? 20'000 : 40;
  return centres[draw(std::size(centres))] + draw(spread) - spread / 2;
}

std::size_t draw_alignment() { return std::size_t{1} << (draw(20) == 0 ? draw(64) : draw(17)); }

void check(void* block, std::size_t bytes, std::size_t alignment) {
  if (block == nullptr) {
    REQUIRE(bytes > (std::size_t{1} << 30) || alignment > (std::size_t{1} << 30));
    return;
  }
  REQUIRE(bytes <= SIZE_MAX / 2);
  REQUIRE(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
  const std::size_t usable = malloc_usable_size(block);
  REQUIRE(usable >= bytes);
  auto* first = static_cast<unsigned char*>(block);
  if (bytes == 0) return;
  first[0] = 0x11;
  first[bytes - 1] = 0x22;
  REQUIRE(*static_cast<volatile unsigned char*>(first + bytes - 1) == 0x22);
}

void* resize(std::size_t bytes) {
  const std::size_t before = draw(100'000) + 1;
  auto* block = static_cast<unsigned char*>(std::malloc(before));
  REQUIRE(block != nullptr);
  block[0] = 0x55;
  if (bytes == 0) bytes = 1;
  void* moved = std::realloc(block, bytes);
  if (moved == nullptr) {
    REQUIRE(block[0] == 0x55);
    std::free(block);
  } else {
    REQUIRE(*static_cast<unsigned char*>(moved) == 0x55);
  }
  return moved;
}

void run_step() {
  const std::size_t bytes = draw_size();
  const std::size_t alignment = draw_alignment();
  const std::size_t pages = (bytes + 4095) / 4096 * 4096;
  void* block = nullptr;
  switch (draw(8)) {
    case 0:
      check(block = std::malloc(bytes), bytes, 16);
      break;
    case 1:
      check(block = std::calloc(1, bytes), bytes, 16);
      break;
    case 2:
      check(block = std::realloc(nullptr, bytes), bytes, 16);
      break;
    case 3:
      check(block = memalign(alignment, bytes), bytes, alignment);
      break;
    case 4:
      check(block = resize(bytes), bytes, 16);
      break;
    case 5:
      check(block = ::operator new(bytes, std::nothrow), bytes, 16);
      break;
    case 6:
      if (posix_memalign(&block, alignment < 8 ? 8 : alignment, bytes) != 0) block = nullptr;
      check(block, bytes, alignment);
      break;
    default:
      check(block = pvalloc(bytes), pages < bytes ? bytes : pages, 4096);
      break;
  }
  std::free(block);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seed = test_seed();
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20'000;
  say("note seed %llu\n", static_cast<unsigned long long>(seed));
  random_numbers.seed(seed);
  for (int i = 0; i < rounds; ++i) run_step();
  require_valid();
  say("done\n");
  return 0;
}
