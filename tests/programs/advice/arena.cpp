// SPDX-License-Identifier: MIT
// Trees that are built and thrown away whole.
#include "heapwright/arena.hpp"

#include <deque>

#include "modes.hpp"

namespace {

constexpr int trees = 60;
constexpr int nodes = 10'000;

struct Name {
  char text[24];
};
struct Node {
  Node* next;
  Name* name;
  int value;
};

[[gnu::noinline]] Node* site(Node* next, int value) { return new Node{next, nullptr, value}; }
[[gnu::noinline]] Name* name_of(int value) { return new Name{{static_cast<char>(value)}}; }

void grow_and_drop() {
  for (int tree = 0; tree < trees; ++tree) {
    Node* list = nullptr;
    for (int value = 0; value < nodes; ++value) {
      list = site(list, value);
      list->name = name_of(value);
    }
    modes::use(list);
    while (list != nullptr) {
      auto* next = list->next;
      delete list->name;
      delete list;
      list = next;
    }
  }
}

void in_an_arena() {
  heapwright::arena memory;
  for (int tree = 0; tree < trees; ++tree) {
    Node* list = nullptr;
    for (int value = 0; value < nodes; ++value) {
      list = memory.create<Node>(list, nullptr, value);
      list->name = memory.create<Name>();
      list->name->text[0] = static_cast<char>(value);
    }
    modes::use(list);
    memory.reset();
  }
}

// As many nodes, which die one by one, some time after they were made.
void one_by_one() {
  std::deque<Node*> queue;
  for (int value = 0; value < trees * nodes; ++value) {
    queue.push_back(site(nullptr, value));
    if (queue.size() > 1000) {
      delete queue.front();
      queue.pop_front();
    }
  }
  for (auto* node : queue) delete node;
}

}  // namespace

int main(int argc, char** argv) { return modes::run(argc, argv, grow_and_drop, in_an_arena, one_by_one); }
