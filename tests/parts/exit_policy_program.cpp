// SPDX-License-Identifier: MIT
// Ends under the exit policy named by its argument, and says what ran.
#include <fcntl.h>

#include <cstdio>
#include <cstring>
#include <iostream>

#include "heapwright/deferred_free.hpp"

struct Speaks {
  ~Speaks() { std::fprintf(stderr, "destroyed\n"); }
};

int main(int, char** arguments) {
  const bool is_quick = std::strcmp(arguments[1], "quick") == 0;
  const bool is_bury = std::strcmp(arguments[1], "bury") == 0;
  std::atexit([] { std::fprintf(stderr, "early handler\n"); });
  static heapwright::lives_until_exit<Speaks> object(is_quick  ? heapwright::exit_policy::quick
                                                     : is_bury ? heapwright::exit_policy::bury
                                                               : heapwright::exit_policy::destroy);
  std::ios::sync_with_stdio(false);
  std::printf("unflushed by printf\n");
  std::cout << "unflushed by cout\n";
  std::wcout << L"unflushed by wcout\n";
  return 7;
}
