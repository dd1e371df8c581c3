// SPDX-License-Identifier: MIT
// expected: heapwright::deferred_free: the number of entries must not be zero
#include "heapwright/deferred_free.hpp"

int main() {
  heapwright::deferred_free queue({.entries = 0});
  return 0;
}
