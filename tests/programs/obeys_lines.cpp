// SPDX-License-Identifier: MIT
// Does what lines of its input say, and answers each: "keep N", "hang N" and "lose N" allocate blocks of 104
// bytes, "drop N" frees kept ones, "snapshot" asks for one, "quit" ends.
#include <heapwright/annotate.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

struct Node {
  Node* next;
  char filling[92];
};
Node* g_kept = nullptr;

[[gnu::noinline]] void keep_one() {
  auto* const node = static_cast<Node*>(std::malloc(sizeof(Node)));
  std::memset(static_cast<void*>(node), 0, sizeof *node);
  node->next = g_kept;
  g_kept = node;
}

// Behind the oldest one.
[[gnu::noinline]] void hang_one() {
  Node** end = &g_kept;
  while (*end != nullptr) end = &(*end)->next;
  *end = static_cast<Node*>(std::calloc(1, sizeof(Node)));
}

[[gnu::noinline]] void lose_one() {
  void* volatile block = std::malloc(sizeof(Node));
  std::memset(block, 0, sizeof(Node));
  block = nullptr;
}

// The stack that a pointer has been on.
[[gnu::noinline]] void overwrite_stack() {
  volatile char filling[16384];
  for (volatile char& byte : filling) byte = 0;
}

void drop_one() {
  if (g_kept == nullptr) return;
  Node* const node = g_kept;
  g_kept = node->next;
  std::free(node);
}

int main() {
  std::string word;
  while (std::cin >> word && word != "quit") {
    int count = 0;
    if (word != "snapshot") std::cin >> count;
    for (int i = 0; i < count; ++i) {
      if (word == "keep") keep_one();
      if (word == "hang") hang_one();
      if (word == "lose") lose_one();
      if (word == "drop") drop_one();
    }
    overwrite_stack();
    if (word == "snapshot") heapwright_snapshot();
    std::cout << "done" << std::endl;
  }
  return 0;
}
