// SPDX-License-Identifier: MIT
// expected: heapwright::small_vector: the position belongs to another vector
#include "heapwright/small_vector.hpp"

int main() {
  heapwright::small_vector<int, 2> v = {1};
  heapwright::small_vector<int, 2> other = {1, 2, 3};
  v.insert(other.end(), 2);
  return 0;
}
