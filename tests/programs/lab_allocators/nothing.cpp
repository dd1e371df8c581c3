// SPDX-License-Identifier: MIT
// A shared library without an allocator.
extern "C" int heapwright_test_nothing() { return 0; }
