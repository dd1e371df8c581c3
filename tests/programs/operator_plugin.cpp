// SPDX-License-Identifier: MIT
// A library that allocates by the C++ operators.
#include <new>

constexpr std::align_val_t alignment{64};

extern "C" void* plugin_allocate() { return ::operator new(3109, alignment); }
extern "C" void plugin_release(void* block) { ::operator delete(block, 3109, alignment); }
