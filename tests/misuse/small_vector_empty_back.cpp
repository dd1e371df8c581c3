// SPDX-License-Identifier: MIT
// expected: heapwright::small_vector: front() and back() need an element
#include "heapwright/small_vector.hpp"

int main() {
  heapwright::small_vector<int, 2> v;
  return v.back();
}
