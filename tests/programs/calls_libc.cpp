// SPDX-License-Identifier: MIT
#include "calls_libc.hpp"

#include <cstdlib>

namespace {

void* early_block = nullptr;

[[gnu::constructor]] void begin() { early_block = std::malloc(4001); }

}  // namespace

void* library_make(std::size_t size) { return std::malloc(size); }
void library_free(void* block) { std::free(block); }
void free_early_block() { std::free(early_block); }
