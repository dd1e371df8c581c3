// SPDX-License-Identifier: MIT
// Fuzzes the calls to the heap, private heaps included, beside a reference
// model (tests/heap_programs/heap_model.hpp). The input chooses the calls.
#include <cstdlib>

#include "../tests/heap_programs/heap_functions.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // No thread of the heap's own: an input does the same each time.
  setenv("HEAPWRIGHT_HEAP_MAINTENANCE", "manual", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  constexpr std::size_t most_steps = 5000;
  {
    heap_model::Model model(heap_model::heap_functions, heap_model::ByteChoices(data, size));
    model.run(most_steps);
  }
  if (heapwright_heap_is_valid() == 0) heap_model::fail("the heap's records disagree", most_steps);
  return 0;
}
