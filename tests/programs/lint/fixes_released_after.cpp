// SPDX-License-Identifier: MIT
// clang-format off
// What has to come out of fixes_released.cpp, written by hand.
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

struct Part {
  std::vector<int> data{1, 2, 3};
};
struct Fixed {
  std::atomic<int> count{0};
};
static std::vector<Part> parts(4);
static int calls = 0;
static Part& next() { return parts[calls++ % 4]; }

#define OTHER other_
#define EMPTY other_.clear()

struct Buffers {
  explicit Buffers(Buffers* up) : parent(up), top(up != nullptr ? *up : *this) {}
  void release_memory(int index) {
    next().data.clear();
    rows[index++].clear();
    rows[index].clear();
    (*pointer).clear();
    parent->own.clear();
    top.own.clear();
    pair[0] = {};
    part.data.clear();
    part.data.shrink_to_fit();
    this->own.clear();
    this->own.shrink_to_fit();
    own.clear();
    own.shrink_to_fit();
    ({ text = ""; });
  }
  void release_buffers(Buffers& given) {
    OTHER.clear();
    OTHER.shrink_to_fit();
    EMPTY;
    (void)text.clear(); text.shrink_to_fit();
    fixed.clear();
    (given).own.clear();
    (given).own.shrink_to_fit();
  }
  void free_memory() {
    next().data.shrink_to_fit();
    own.clear();
    own.push_back(calls);
    other_.clear();
    other_.shrink_to_fit();
    other_ = own;
  }
  std::vector<std::vector<int>> rows{{1}, {2, 3}, {4, 5, 6}};
  std::unique_ptr<std::vector<int>> pointer = std::make_unique<std::vector<int>>(7);
  std::array<std::vector<int>, 2> pair{std::vector<int>{8}, std::vector<int>{9}};
  std::vector<int> own{10, 11};
  std::vector<int> other_{12};
  std::vector<Fixed> fixed;
  std::string text = "text";
  Part part;
  Buffers* parent;
  Buffers& top;
};

int main() {
  Buffers above(nullptr);
  Buffers buffers(&above);
  for (int round = 0; round < 3; ++round) {
    buffers.release_memory(round % 2);
    buffers.release_buffers(above);
    buffers.free_memory();
    for (const Part& one : parts) std::printf("%zu ", one.data.size());
    for (const auto& one : buffers.rows) std::printf("%zu ", one.size());
    std::printf("%d %zu %zu %zu\n", calls, buffers.own.size(), above.own.size(), buffers.text.size());
  }
}
