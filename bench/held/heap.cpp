// SPDX-License-Identifier: MIT
// A heap of so many blocks of 104 bytes, each with two pointers, that is walked through for ever; or of whose
// memory so many percent are written to each second.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Node {
  Node* next;
  Node* other;
  char filling[88];
};
Node* g_list;

void walk() {
  for (long sum = 0;;) {
    for (const Node* node = g_list; node != nullptr; node = node->next) sum += node->filling[0];
    usleep(sum == 0 ? 1000 : 2000);
  }
}

// A hundredth of a second's pages at a time; blocks lie one behind the other.
void change(long count, long percent) {
  constexpr long blocks_per_page = 36;
  const long pages = count / blocks_per_page * percent / 100 / 100;
  for (const Node* from = g_list;; usleep(10'000)) {
    for (long page = 0; page < pages; ++page) {
      for (long i = 0; i < blocks_per_page && from != nullptr; ++i) from = from->next;
      if (from == nullptr) from = g_list;
      *const_cast<volatile char*>(from->filling) = 0;
    }
  }
}

int main(int given, char** values) {
  const long count = std::atol(values[1]);
  Node** const all = static_cast<Node**>(std::malloc(static_cast<unsigned long>(count) * sizeof(Node*)));
  for (long i = 0; i < count; ++i) {
    Node* const node = static_cast<Node*>(std::malloc(sizeof(Node)));
    std::memset(static_cast<void*>(node), 0, sizeof *node);
    node->next = g_list;
    node->other = i == 0 ? nullptr : all[(i * 7919) % i];
    all[i] = g_list = node;
  }
  std::free(all);
  std::puts("ready");
  std::fflush(stdout);
  if (given > 2) change(count, std::atol(values[2]));
  walk();
}
