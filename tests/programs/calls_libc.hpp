// SPDX-License-Identifier: MIT
// A library that calls libc's malloc: once in its constructor, which asks for 4001 bytes.
#pragma once

#include <cstddef>

void* library_make(std::size_t size);
void library_free(void* block);
void free_early_block();
