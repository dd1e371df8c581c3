// SPDX-License-Identifier: MIT
// expected: heapwright::deferred_free: defer() is called by the thread that made the queue
#include <thread>

#include "heapwright/deferred_free.hpp"

int main() {
  heapwright::deferred_free queue;
  std::thread([&] { queue.defer(new int); }).join();
  return 0;
}
