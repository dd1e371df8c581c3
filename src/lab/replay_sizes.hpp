// SPDX-License-Identifier: MIT
// heapwright-lab replay-sizes: what each policy of a buffer cache would do with
// a recorded sequence of sizes.
#pragma once

#include <cstdio>

namespace heapwright::lab {

// Reads 64-bit numbers: n > 0 is a request of n bytes, n < 0 gives request
// number -n - 1 back. Prints one line of JSON; the answer is the exit code.
int replay_sizes(std::FILE* input);

}  // namespace heapwright::lab
