// SPDX-License-Identifier: MIT
// expected: heapwright::node_pool: page_bytes must be a power of two from 4 KiB to 1 MiB
#include "heapwright/node_pool.hpp"

int main() { const heapwright::node_pool pool({.page_bytes = 5000}); }
