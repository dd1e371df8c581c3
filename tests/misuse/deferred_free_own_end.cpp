// SPDX-License-Identifier: MIT
// expected: heapwright::deferred_free: a queue is destroyed by an object it frees
#include "heapwright/deferred_free.hpp"

int main() {
  auto* queue = new heapwright::deferred_free;
  queue->defer(queue, [](void* own) { delete static_cast<heapwright::deferred_free*>(own); });
  queue->drain();
}
