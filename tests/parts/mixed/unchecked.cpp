// SPDX-License-Identifier: MIT
// Compiled with NDEBUG: uses parts of its own, and offers one to other files.
#include "heapwright/arena.hpp"
#include "heapwright/buffer_cache.hpp"
#include "heapwright/small_vector.hpp"

int use_parts_unchecked();
int use_parts_unchecked() {
  heapwright::buffer_cache<> cache({.total_bytes = 100000, .buffers = 4});
  std::size_t sum = 0;
  for (int i = 0; i < 100; ++i) sum += cache.acquire(100).size();
  heapwright::small_vector<int, 2> numbers = {1, 2, 3};
  return static_cast<int>(sum) + numbers.back();
}

#if defined(SHARES_A_PART)
void fill(heapwright::arena& memory);
void fill(heapwright::arena& memory) { memory.allocate(100); }
#elif defined(SHARES_A_HOLDER)
inline namespace HEAPWRIGHT_ABI {
struct holder {
  heapwright::arena memory;
};
}  // namespace HEAPWRIGHT_ABI
void fill(holder& all);
void fill(holder& all) { all.memory.allocate(100); }
#endif
