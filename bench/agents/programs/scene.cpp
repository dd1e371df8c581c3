// SPDX-License-Identifier: MIT
// Planted: shared objects whose counts have a block of their own.
#include <cstdio>
#include <memory>
#include <vector>

struct Node {
  float matrix[8];
  std::vector<std::shared_ptr<Node>> children;
};

[[gnu::noinline]] std::shared_ptr<Node> load_node() { return std::shared_ptr<Node>(new Node()); }

int main() {
  std::size_t sum = 0;
  for (int scene = 0; scene < 8; ++scene) {
    std::vector<std::shared_ptr<Node>> nodes;
    nodes.reserve(100'000);
    for (int node = 0; node < 100'000; ++node) {
      nodes.push_back(load_node());
      nodes.back()->matrix[0] = static_cast<float>(node);
    }
    sum += nodes.size();
  }
  std::printf("%zu\n", sum);
}
