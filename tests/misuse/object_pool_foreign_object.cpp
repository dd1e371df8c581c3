// SPDX-License-Identifier: MIT
// expected: heapwright::object_pool: release() of an object of another pool
#include <string>

#include "heapwright/object_pool.hpp"

int main() {
  heapwright::object_pool<std::string> pool({.max_idle = 3});
  heapwright::object_pool<std::string> other({.max_idle = 3});
  pool.release(other.take());
  return 0;
}
