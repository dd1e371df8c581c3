// SPDX-License-Identifier: MIT
// Loaded with RTLD_DEEPBIND: malloc and free here are the C library's.
#include <cstdlib>
#include <cstring>

extern "C" {
__attribute__((visibility("default"))) void* make_block(std::size_t bytes) { return std::malloc(bytes); }

__attribute__((visibility("default"))) char* duplicate_text(const char* text) {
  auto* copy = static_cast<char*>(std::malloc(std::strlen(text) + 1));
  return std::strcpy(copy, text);
}

// The block may be another allocator's.
__attribute__((visibility("default"))) void release_block(void* block) { std::free(block); }

__attribute__((visibility("default"))) int use_own_blocks() {
  void* blocks[100];
  for (std::size_t i = 0; i < 100; ++i) {
    blocks[i] = std::realloc(std::calloc(i + 1, 8), i * 100 + 1);
    if (blocks[i] == nullptr) return 1;
  }
  for (void* block : blocks) std::free(block);
  return 0;
}
}
