// SPDX-License-Identifier: MIT
// expected: heapwright::object_pool: max_idle must not be zero
#include <string>

#include "heapwright/object_pool.hpp"

int main() {
  heapwright::object_pool<std::string> pool({.max_idle = 0});
  return 0;
}
