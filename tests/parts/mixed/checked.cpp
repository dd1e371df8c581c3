// SPDX-License-Identifier: MIT
// Compiled with checks. Buffers that this file lends carry the checks' marks.
#include "heapwright/arena.hpp"
#include "heapwright/buffer_cache.hpp"
#include "heapwright/small_vector.hpp"

int use_parts_unchecked();
#if defined(SHARES_A_PART)
void fill(heapwright::arena& memory);
#elif defined(SHARES_A_HOLDER)
inline namespace HEAPWRIGHT_ABI {
struct holder {
  heapwright::arena memory;
};
}  // namespace HEAPWRIGHT_ABI
void fill(holder& all);
#endif

int main() {
  heapwright::buffer_cache<> cache({.total_bytes = 100000, .buffers = 4});
  std::size_t sum = 0;
  for (int i = 0; i < 100; ++i) sum += cache.acquire(100).size();
  heapwright::small_vector<int, 2> numbers = {1, 2, 3};
#if defined(SHARES_A_PART)
  heapwright::arena memory;
  fill(memory);
#elif defined(SHARES_A_HOLDER)
  holder all;
  fill(all);
#endif
  return static_cast<int>(sum) + numbers.back() == use_parts_unchecked() ? 0 : 1;
}
