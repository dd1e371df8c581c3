// SPDX-License-Identifier: MIT
// heapwright-lab replay-sizes: how each policy of a buffer cache would perform for a recorded sequence of
// sizes.
#pragma once

#include <cstdio>

namespace heapwright::lab {

// Reads 64-bit numbers: n > 0 is a request of n bytes, n < 0 returns the buffer of request number -n - 1.
// Prints one line of JSON; returns the exit code.
int replay_sizes(std::FILE* input);

}  // namespace heapwright::lab
