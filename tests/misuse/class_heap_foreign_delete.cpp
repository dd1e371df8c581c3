// SPDX-License-Identifier: MIT
// expected: heapwright::class_heap: delete of an object that this class did not allocate
#include "heapwright/class_heap.hpp"

int main() {
  struct Order : heapwright::class_heap<Order> {};
  Order* volatile order = ::new Order;
  delete order;
  return 0;
}
