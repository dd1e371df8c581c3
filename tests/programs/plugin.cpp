// SPDX-License-Identifier: MIT
// A library for the programs that load one. Its twin differs in this constant alone: the same code at the
// same place.
#include <cstdlib>

#ifndef PLUGIN_BYTES
#define PLUGIN_BYTES 3109
#endif

extern "C" void* plugin_allocate() { return std::malloc(PLUGIN_BYTES); }
extern "C" void plugin_release(void* block) { std::free(block); }
