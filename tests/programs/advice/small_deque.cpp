// SPDX-License-Identifier: MIT
// A queue for each session, which is nearly always empty; and some long ones.
#include <unistd.h>

#include <deque>
#include <vector>

#include "modes.hpp"

namespace {

constexpr std::size_t sessions = 40'000;
constexpr std::size_t queues = 50;
constexpr int elements = 100'000;

template <class Queue>
[[gnu::noinline]] void site(std::vector<Queue>& all, int number) {
  all.emplace_back();
  all.back().push_back(number);
}

template <class Queue>
void work() {
  std::vector<Queue> all;
  all.reserve(sessions);
  for (std::size_t i = 0; i < sessions; ++i) site(all, static_cast<int>(i));
  usleep(100'000);
  modes::use(all.data());
}

[[gnu::noinline]] void fill(std::deque<int>& queue) {
  for (int i = 0; i < elements; ++i) queue.push_back(i);
}

void long_queues() {
  std::vector<std::deque<int>> all(queues);
  for (auto& queue : all) fill(queue);
  modes::use(all.data());
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(argc, argv, work<std::deque<int>>, work<std::vector<int>>, long_queues);
}
