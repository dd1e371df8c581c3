// SPDX-License-Identifier: MIT
// Builds much and frees it all, the last first, so that the heap shrinks and grows again.
#include <malloc.h>

#include <memory>
#include <vector>

#include "modes.hpp"

namespace {

constexpr int rounds = 200;
constexpr std::size_t blocks = 100;

[[gnu::noinline]] std::unique_ptr<char[]> site() { return std::unique_ptr<char[]>(new char[50'000]); }

// `keeps`: one block at the heap's end stays, so that it never shrinks.
void work(bool keeps) {
  std::vector<std::unique_ptr<char[]>> held(blocks);
  std::unique_ptr<char[]> last;
  for (int round = 0; round < rounds; ++round) {
    for (auto& block : held) {
      block = site();
      block[0] = 1;
      modes::use(block.get());
    }
    if (keeps && last == nullptr) last = site();
    while (!held.empty()) held.pop_back();
    held.resize(blocks);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, [] { work(false); },
      [] {
        mallopt(M_TOP_PAD, 64 << 20);
        mallopt(M_TRIM_THRESHOLD, 512 << 20);
        mallopt(M_MMAP_THRESHOLD, 32 << 20);
        work(false);
      },
      [] { work(true); });
}
