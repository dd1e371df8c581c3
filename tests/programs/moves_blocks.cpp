// SPDX-License-Identifier: MIT
// Threads move blocks between holders for ever: from place to place in a table, from list to list, and from
// freed blocks to new ones. Nothing that moves is ever lost; what is lost is so before it says "ready".
// Arguments: threads, blocks in the table, blocks to lose.
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

struct Node {
  Node* next = nullptr;
  std::uint64_t value = 0;
};

// Twice as many places as blocks. Never destroyed.
std::vector<std::atomic<Node*>>& g_table = *new std::vector<std::atomic<Node*>>;

struct List {
  std::mutex mutex;
  Node* first = nullptr;
};
List g_lists[64];

// A block whose only pointer goes from box to box, each of which is freed.
struct Box {
  Node* held = nullptr;
};
Box* g_boxes[64];

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33U) % limit;
  }

 private:
  std::uint64_t state_;
};

[[gnu::noinline]] void move_in_table(Random& random) {
  Node* moved = g_table[random.below(g_table.size())].exchange(nullptr);
  while (moved != nullptr) moved = g_table[random.below(g_table.size())].exchange(moved);
}

[[gnu::noinline]] void move_in_lists(Random& random) {
  List& from = g_lists[random.below(64)];
  List& to = g_lists[random.below(64)];
  if (&from == &to) return;
  const std::scoped_lock lock(from.mutex, to.mutex);
  Node* const moved = from.first;
  if (moved == nullptr) return;
  from.first = moved->next;
  moved->next = to.first;
  to.first = moved;
}

[[gnu::noinline]] void move_to_new_box(Box*& box) {
  Box* const fresh = new Box{box->held};
  delete box;
  box = fresh;
}

[[gnu::noinline]] void lose_one() {
  auto* volatile block = static_cast<char*>(std::malloc(40));
  block[0] = 1;
  block = nullptr;
}

[[gnu::noinline]] void wipe_stack() {
  volatile char room[32768];
  for (auto& byte : room) byte = 0;
}

void run(unsigned number, unsigned threads) {
  Random random(number + 1);
  for (std::uint64_t turn = 0;; ++turn) {
    move_in_table(random);
    if (turn % 8 == 0) move_in_lists(random);
    if (turn % 4096 == 0) {
      for (unsigned box = number; box < 64; box += threads) move_to_new_box(g_boxes[box]);
    }
  }
}

int main(int, char** arguments) {
  const auto threads = static_cast<unsigned>(std::atoi(arguments[1]));
  const int blocks = std::atoi(arguments[2]);
  for (int i = std::atoi(arguments[3]); i > 0; --i) lose_one();
  g_table = std::vector<std::atomic<Node*>>(2 * static_cast<std::size_t>(blocks));
  for (std::size_t i = 0; i < g_table.size(); i += 2) g_table[i] = new Node;
  for (int i = 0; i < blocks / 8; ++i) {
    List& list = g_lists[i % 64];
    list.first = new Node{list.first, 1};
  }
  for (Box*& box : g_boxes) box = new Box{new Node};
  wipe_stack();
  for (unsigned i = 0; i < threads; ++i) std::thread(run, i, threads).detach();
  std::puts("ready");
  std::fflush(stdout);
  for (;;) pause();
}
