// SPDX-License-Identifier: MIT
// Nothing is planted: a table is made once and computed with.
#include <cstdio>
#include <vector>

int main() {
  std::vector<char> is_composite(20'000'000);
  long primes = 0;
  for (std::size_t number = 2; number < is_composite.size(); ++number) {
    if (is_composite[number] == 0) {
      ++primes;
      for (std::size_t multiple = number * number; multiple < is_composite.size(); multiple += number) {
        is_composite[multiple] = 1;
      }
    }
  }
  std::printf("%ld\n", primes);
}
