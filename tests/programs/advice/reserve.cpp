// SPDX-License-Identifier: MIT
// Vectors that grow to a size that was known before.
#include <memory>
#include <vector>

#include "modes.hpp"

namespace {

constexpr int vectors = 2000;
constexpr int elements = 20'000;

[[gnu::noinline]] void site(std::vector<int>& vector, int value) { vector.push_back(value); }

void work(bool reserves) {
  for (int round = 0; round < vectors; ++round) {
    std::vector<int> vector;
    if (reserves) vector.reserve(elements);
    for (int value = 0; value < elements; ++value) site(vector, value);
    modes::use(vector.data());
  }
}

[[gnu::noinline]] std::unique_ptr<char[]> buffer_of(std::size_t size) {
  return std::unique_ptr<char[]>(new char[size]);
}

// Each takes the place of the one before, and is larger now and then; nothing grows.
void replaced() {
  modes::Random random;
  std::unique_ptr<char[]> latest;
  for (int round = 0; round < vectors * 100; ++round) {
    latest = buffer_of(100 + random.below(20'000));
    latest[0] = 1;
    modes::use(latest.get());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, [] { work(false); }, [] { work(true); }, replaced);
}
