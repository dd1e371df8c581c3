// SPDX-License-Identifier: MIT
// A server of three memories: a pool of objects whose vectors keep their
// capacity, a cache that fills once, and requests that free what they take.
// Nothing leaks; all is freed at the end.
//
// Prints the bytes and buffers that the pool's vectors hold at the end, as the
// program itself counts them.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

struct Item {
  std::vector<long> values;
};

std::mt19937 numbers(7);

// 1.5 elements on average, 100 at most.
int draw_length() {
  const auto uniform = (static_cast<double>(numbers()) + 1.0) / 4294967296.0;
  return std::min(100, static_cast<int>(std::pow(uniform, -1 / 1.2)));
}

[[gnu::noinline]] void serve(Item& item) {
  item.values.clear();
  const auto length = draw_length();
  for (int number = 0; number < length; ++number) {
    item.values.push_back(number);
  }
}

[[gnu::noinline]] void fill_cache(std::vector<std::unique_ptr<char[]>>& cache) {
  cache.push_back(std::make_unique<char[]>(400));
  cache.back()[0] = 'c';
}

[[gnu::noinline]] void answer_request() {
  const std::string text(300 + numbers() % 300, 'r');
  asm volatile("" ::"r"(text.data()) : "memory");
}

}  // namespace

int main() {
  constexpr int requests = 20'000;
  std::vector<Item> pool(500);
  std::vector<std::unique_ptr<char[]>> cache;
  cache.reserve(requests);
  for (int request = 0; request < requests; ++request) {
    serve(pool[numbers() % pool.size()]);
    if (request < requests / 3) {
      fill_cache(cache);
    }
    answer_request();
    if (request % 10 == 0) {
      const timespec pause{0, 1'000'000};
      nanosleep(&pause, nullptr);
    }
  }
  std::size_t bytes = 0;
  std::size_t buffers = 0;
  for (const auto& item : pool) {
    bytes += item.values.capacity() * sizeof(long);
    buffers += item.values.capacity() != 0 ? 1 : 0;
  }
  std::printf("%zu %zu\n", bytes, buffers);
}
