// SPDX-License-Identifier: MIT
// expected: heapwright::object_pool: destroyed before all its objects came back
#include <string>

#include "heapwright/object_pool.hpp"

int main() {
  heapwright::object_pool<std::string> pool({.max_idle = 3});
  pool.take();
  return 0;
}
