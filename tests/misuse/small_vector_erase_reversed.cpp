// SPDX-License-Identifier: MIT
// expected: heapwright::small_vector: erase() needs first before last
#include "heapwright/small_vector.hpp"

int main() {
  heapwright::small_vector<int, 2> v = {1, 2, 3, 4};
  v.erase(v.begin() + 3, v.begin() + 1);
}
