// SPDX-License-Identifier: MIT
// expected: heapwright::small_vector: operator[] needs an index below size()
#include "heapwright/small_vector.hpp"

int main() {
  heapwright::small_vector<int, 2> v = {1, 2};
  return v[v.size()];
}
