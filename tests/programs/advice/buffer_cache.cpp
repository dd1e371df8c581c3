// SPDX-License-Identifier: MIT
// Buffers of varying size, a few at once.
#include "heapwright/buffer_cache.hpp"

#include <array>
#include <memory>

#include "modes.hpp"

namespace {

constexpr int buffers = 400'000;
constexpr std::size_t at_once = 8;

[[gnu::noinline]] std::unique_ptr<char[]> site(std::size_t size) {
  return std::unique_ptr<char[]>(new char[size]);
}

// Most between 1 and 16 KiB.
std::size_t next_size(modes::Random& random) { return std::size_t{1024} << random.below(5); }

void made_anew() {
  std::array<std::unique_ptr<char[]>, at_once> open;
  modes::Random random;
  for (int round = 0; round < buffers; ++round) {
    auto& place = open[random.below(at_once)];
    place = nullptr;
    place = site(next_size(random));
    place[0] = 1;
    modes::use(place.get());
  }
}

void from_a_cache() {
  heapwright::buffer_cache<> cache({.total_bytes = 1 << 20, .buffers = 64});
  std::array<decltype(cache.acquire(1)), at_once> open;
  modes::Random random;
  for (int round = 0; round < buffers; ++round) {
    auto& place = open[random.below(at_once)];
    place = {};
    place = cache.acquire(next_size(random));
    place.data()[0] = std::byte{1};
    modes::use(place.data());
  }
}

// Buffers of varying size that all stay.
void kept() {
  std::array<std::unique_ptr<char[]>, 5000> all;
  modes::Random random;
  for (auto& place : all) {
    place = site(next_size(random));
    place[0] = 1;
  }
  modes::use(all[0].get());
}

}  // namespace

int main(int argc, char** argv) { return modes::run(argc, argv, made_anew, from_a_cache, kept); }
