// SPDX-License-Identifier: MIT
// Writes the version-1 fixtures of tests/traces/ and the fuzzer's seeds. Run
// by hand when a format version is born; a fixture is never written again.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "made_trace.hpp"

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("usage: make_trace_fixture FILE CHUNKS EVENTS_PER_CHUNK\n", stderr);
    return 2;
  }
  heapwright::trace::test::write_small_trace(arguments[1], std::strtoul(arguments[2], nullptr, 10),
                                             std::strtoul(arguments[3], nullptr, 10));
  return 0;
}
