// SPDX-License-Identifier: MIT
// Vectors of a few elements.
#include "heapwright/small_vector.hpp"

#include <vector>

#include "modes.hpp"

namespace {

constexpr int vectors = 300'000;

template <class Vector>
[[gnu::noinline]] void site(Vector& vector, int value) {
  vector.push_back(value);
}

template <class Vector>
void work(int elements, int count) {
  modes::Random random;
  for (int round = 0; round < count; ++round) {
    Vector vector;
    const auto wanted = 1 + random.below(static_cast<std::uint64_t>(elements));
    for (std::uint64_t value = 0; value < wanted; ++value) site(vector, static_cast<int>(value));
    modes::use(&vector.back());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, [] { work<std::vector<int>>(6, vectors); },
      [] { work<heapwright::small_vector<int, 8>>(6, vectors); },
      [] { work<std::vector<int>>(5000, vectors / 500); });
}
