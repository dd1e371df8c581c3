// SPDX-License-Identifier: MIT
// A table that is replaced while somebody waits; between requests there is time.
#include "heapwright/deferred_free.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "modes.hpp"

namespace {

constexpr int requests = 8;
// So many that their end takes several slices of the scheduler, should one of them be another program's.
constexpr int many = 400'000;

using Table = std::map<int, int>;
using TablePointer = std::unique_ptr<Table>;

[[gnu::noinline]] void site(Table& table, int key) { table.emplace(key, key); }

TablePointer make_table(int entries) {
  auto table = std::make_unique<Table>();
  for (int key = 0; key < entries; ++key) site(*table, key);
  return table;
}

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

// Prints how long the requests waited for the old tables' end.
template <class Replace, class Idle>
void serve(int entries, Replace replace, Idle idle) {
  auto table = make_table(entries);
  std::uint64_t waited_ns = 0;
  for (int request = 0; request < requests; ++request) {
    auto next = make_table(entries);
    const auto begin_ns = modes::now_ns();
    replace(table, next);
    waited_ns += modes::now_ns() - begin_ns;
    idle();
  }
  modes::say("waited_ns", waited_ns);
  // Not at the end of the process, where it would be another rule's.
  table.reset();
  modes::compute(40'000'000);
}

void at_once(int entries) {
  serve(
      entries, [](TablePointer& table, TablePointer& next) { table = std::move(next); }, rest);
}

void later() {
  heapwright::deferred_free queue({.has_background_thread = true});
  serve(
      many,
      [&](TablePointer& table, TablePointer& next) { queue.defer(std::exchange(table, std::move(next))); },
      rest);
  queue.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, [] { at_once(many); }, later, [] { at_once(200); });
}
