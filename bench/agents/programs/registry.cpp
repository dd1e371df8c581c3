// SPDX-License-Identifier: MIT
// Planted: a subscription that ends leaves one of the two indexes it is in.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct Subscription {
  long id;
  std::string topic;
};

struct Registry {
  std::unordered_map<long, std::unique_ptr<Subscription>> by_id;
  std::unordered_map<long, Subscription*> audit;

  [[gnu::noinline]] void subscribe(long id) {
    by_id[id] = std::make_unique<Subscription>(Subscription{id, "a topic that is long enough for the heap"});
  }
  [[gnu::noinline]] void note(long id) { audit.emplace(id, new Subscription{id, "short"}); }
  void unsubscribe(long id) { by_id.erase(id); }
};

int main() {
  Registry registry;
  for (long id = 0; id < 300'000; ++id) {
    registry.subscribe(id);
    if (id % 3 == 0) {
      registry.note(id);
    }
    if (id >= 100) {
      registry.unsubscribe(id - 100);
    }
  }
  std::printf("%zu\n", registry.by_id.size());
  std::fflush(stdout);
  std::_Exit(0);
}
