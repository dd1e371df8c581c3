// SPDX-License-Identifier: MIT
// expected: heapwright::object_pool: release() of an object that is already back
#include <string>

#include "heapwright/object_pool.hpp"

int main() {
  heapwright::object_pool<std::string> pool({.max_idle = 3});
  std::string* text = pool.take();
  pool.release(text);
  pool.release(text);
  return 0;
}
