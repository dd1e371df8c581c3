// SPDX-License-Identifier: MIT
// expected: heapwright::small_vector: longer than max_size()
#include "heapwright/small_vector.hpp"

int main() {
  heapwright::small_vector<int, 2> v;
  v.reserve(v.max_size() + 1);  // throws; uncaught, it ends the program
  return 0;
}
