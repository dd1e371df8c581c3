// SPDX-License-Identifier: MIT
// A table that is freed when the process ends anyway.
#include <map>

#include "heapwright/deferred_free.hpp"
#include "modes.hpp"

namespace {

constexpr int entries = 400'000;

using Table = std::map<int, int>;

[[gnu::noinline]] void site(Table& table, int key) { table.emplace(key, key); }

void fill(Table& table) {
  for (int key = 0; key < entries; ++key) site(table, key);
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv,
      [] {
        static Table table;
        fill(table);
      },
      [] {
        static heapwright::lives_until_exit<Table> table(heapwright::exit_policy::bury);
        fill(*table);
      },
      [] {
        Table table;
        fill(table);
        table.clear();
        modes::compute(200'000'000);
      });
}
