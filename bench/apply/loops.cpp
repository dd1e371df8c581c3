// SPDX-License-Identifier: MIT
// Loops of pairs: one function makes a block, the other gives it back. Arguments: malloc, calloc or new;
// how many pairs; "named" for the functions of the remedies instead of the others. The three in_...
// functions are called once in any case, so that a recording has their sites.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr int kept_blocks = 64;

[[gnu::noinline]] void* in_first_loop(std::size_t bytes) { return std::malloc(bytes); }
[[gnu::noinline]] void* in_second_loop(std::size_t bytes) { return std::calloc(1, bytes); }
[[gnu::noinline]] void* in_third_loop(std::size_t bytes) { return ::operator new(bytes); }
[[gnu::noinline]] void* by_malloc(std::size_t bytes) { return std::malloc(bytes); }
[[gnu::noinline]] void* by_calloc(std::size_t bytes) { return std::calloc(1, bytes); }
[[gnu::noinline]] void* by_new(std::size_t bytes) { return ::operator new(bytes); }
[[gnu::noinline]] void by_free(void* block, std::size_t) { std::free(block); }
[[gnu::noinline]] void by_delete(void* block, std::size_t bytes) { ::operator delete(block, bytes); }

using Make = void* (*)(std::size_t);
using GiveBack = void (*)(void*, std::size_t);

void loop(long pairs, Make make, GiveBack give_back) {
  void* kept[kept_blocks] = {};
  std::size_t sizes[kept_blocks] = {};
  std::uint64_t state = 88172645463325252ULL;
  for (long i = 0; i < pairs; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const std::uint64_t slot = state % kept_blocks;
    give_back(kept[slot], sizes[slot]);
    sizes[slot] = 16 + (state >> 32) % 512;
    kept[slot] = make(sizes[slot]);
  }
  for (int slot = 0; slot < kept_blocks; ++slot) give_back(kept[slot], sizes[slot]);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 3) return 2;
  const long pairs = std::atol(arguments[2]);
  const bool is_named = argument_count > 3 && std::strcmp(arguments[3], "named") == 0;
  by_free(in_first_loop(100), 100);
  by_free(in_second_loop(100), 100);
  by_delete(in_third_loop(100), 100);
  if (std::strcmp(arguments[1], "malloc") == 0) loop(pairs, is_named ? in_first_loop : by_malloc, by_free);
  if (std::strcmp(arguments[1], "calloc") == 0) loop(pairs, is_named ? in_second_loop : by_calloc, by_free);
  if (std::strcmp(arguments[1], "new") == 0) loop(pairs, is_named ? in_third_loop : by_new, by_delete);
  return 0;
}
