// SPDX-License-Identifier: MIT
// A buffer for each line.
#include <memory>
#include <utility>
#include <vector>

#include "heapwright/small_vector.hpp"
#include "modes.hpp"

namespace {

constexpr int lines = 1'000'000;

[[gnu::noinline]] std::unique_ptr<char[]> site(std::size_t size) {
  return std::unique_ptr<char[]>(new char[size]);
}

void one_each() {
  modes::Random random;
  for (int line = 0; line < lines; ++line) {
    auto buffer = site(20 + random.below(200));
    buffer[0] = 1;
    modes::use(buffer.get());
  }
}

void on_the_stack() {
  modes::Random random;
  for (int line = 0; line < lines; ++line) {
    heapwright::small_vector<char, 256> buffer;
    buffer.reserve(20 + random.below(200));
    buffer.push_back(1);
    modes::use(buffer.data());
  }
}

// The line before is needed while this one is read.
void two_at_once() {
  modes::Random random;
  std::unique_ptr<char[]> before;
  for (int line = 0; line < lines / 10; ++line) {
    auto buffer = site(20 + random.below(200));
    buffer[0] = 1;
    modes::use(buffer.get());
    before = std::move(buffer);
  }
}

}  // namespace

int main(int argc, char** argv) { return modes::run(argc, argv, one_each, on_the_stack, two_at_once); }
