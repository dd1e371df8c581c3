// SPDX-License-Identifier: MIT
// 16 threads alive, thousands in all; every thread leaves one block to the
// one that starts after it. Arguments: total threads, blocks per thread.
#include <thread>
#include <utility>

#include "say.hpp"

int main(int argc, char** argv) {
  const int total = argc > 1 ? std::atoi(argv[1]) : 2000;
  const int blocks = argc > 2 ? std::atoi(argv[2]) : 20;
  constexpr int alive = 16;
  std::thread threads[alive];
  void* left_over[alive] = {};
  for (int i = 0; i < total; ++i) {
    const int place = i % alive;
    if (threads[place].joinable()) threads[place].join();
    threads[place] = std::thread([blocks, &slot = left_over[place]] {
      std::free(std::exchange(slot, nullptr));
      for (int block = 0; block < blocks; ++block) std::free(keep(std::malloc(3001)));
      slot = std::malloc(3011);
    });
  }
  for (int place = 0; place < alive; ++place) {
    if (threads[place].joinable()) threads[place].join();
    std::free(left_over[place]);
  }
  say("allocated %d 3001 malloc\nreleased %d 3001 free\n", total * blocks, total * blocks);
  say("allocated %d 3011 malloc\nreleased %d 3011 free\nnote threads %d\n", total, total, total + 1);
  return 0;
}
