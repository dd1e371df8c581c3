// SPDX-License-Identifier: MIT
// A library for the programs that load one.
#include <cstdlib>

extern "C" void* plugin_allocate() { return std::malloc(3109); }
extern "C" void plugin_release(void* block) { std::free(block); }
