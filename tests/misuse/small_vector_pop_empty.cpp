// SPDX-License-Identifier: MIT
// expected: heapwright::small_vector: pop_back() needs an element
#include "heapwright/small_vector.hpp"

int main() {
  heapwright::small_vector<int, 2> v;
  v.pop_back();
  return 0;
}
