// SPDX-License-Identifier: MIT
// expected: heapwright::arena: rewind() needs a marker that was not rewound below
#include <string>

#include "heapwright/arena.hpp"

int main() {
  heapwright::arena memory;
  const auto low = memory.mark();
  memory.create<std::string>("gone");
  const auto high = memory.mark();
  memory.rewind(low);
  memory.allocate(200);
  memory.rewind(high);
  return 0;
}
