// SPDX-License-Identifier: MIT
// A dictionary that is built once and kept until the process ends.
#include "heapwright/arena.hpp"
#include "modes.hpp"

namespace {

constexpr int entries = 300'000;

struct Entry {
  Entry* next;
  std::uint64_t key;
  std::uint64_t value;
};

Entry* table = nullptr;

[[gnu::noinline]] Entry* site(std::uint64_t key) { return new Entry{table, key, key}; }
[[gnu::noinline]] Entry* site(heapwright::arena& memory, std::uint64_t key) {
  return memory.create<Entry>(table, key, key);
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv,
      [] {
        for (int key = 0; key < entries; ++key) table = site(static_cast<std::uint64_t>(key));
        modes::use(table);
      },
      [] {
        static heapwright::arena memory;
        for (int key = 0; key < entries; ++key) table = site(memory, static_cast<std::uint64_t>(key));
        modes::use(table);
      },
      [] {
        // A cache: most entries are replaced, a few thousand are kept.
        static Entry* cache[4096];
        for (int key = 0; key < entries; ++key) {
          Entry*& place = cache[key % 4096];
          delete place;
          place = site(static_cast<std::uint64_t>(key));
        }
        modes::use(cache[0]);
      });
}
