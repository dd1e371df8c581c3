// SPDX-License-Identifier: MIT
// expected: heapwright::small_vector: erase() needs an element
#include "heapwright/small_vector.hpp"

int main() {
  heapwright::small_vector<int, 2> v = {1};
  v.erase(v.end());
  return 0;
}
