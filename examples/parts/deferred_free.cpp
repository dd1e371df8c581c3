// SPDX-License-Identifier: MIT
// The last reader of a large table does not pay for its end.
#include "heapwright/deferred_free.hpp"

#include <cstdio>
#include <map>
#include <string>

using table = std::map<int, std::string>;

int main() {
  auto current = heapwright::make_shared_deferred<table>();
  for (int i = 0; i < 100000; ++i) current->emplace(i, "a row that is longer than the small buffer");

  const auto milliseconds = [](auto since) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
  };
  auto start = std::chrono::steady_clock::now();
  current.reset();  // within a request
  std::printf("dropping the table: %.3f ms\n", milliseconds(start));

  start = std::chrono::steady_clock::now();
  heapwright::deferred_free* queue = heapwright::deferred_free::of_thread();
  queue->drain();  // when idle
  std::printf("freeing it when idle: %.3f ms\n", milliseconds(start));
  return queue->statistics().pending == 0 ? 0 : 1;
}
