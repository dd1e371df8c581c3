// SPDX-License-Identifier: MIT
// A program with a malloc, realloc and free of its own, but no reallocarray: the C library's calls its
// realloc.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

alignas(16) char pool[1 << 20];
std::size_t used = 0;

}  // namespace

extern "C" {
void* malloc(std::size_t size) {
  const std::size_t rounded = (size + 15) & ~std::size_t{15};
  if (rounded > sizeof pool - used) return nullptr;
  used += rounded;
  return pool + used - rounded;
}
void* calloc(std::size_t count, std::size_t size) { return malloc(count * size); }
void free(void*) {}
void* realloc(void* block, std::size_t size) {
  void* const moved = malloc(size);
  if (block != nullptr && moved != nullptr)
    std::memcpy(moved, block, size);  // of the pool, so all is readable
  return moved;
}
}

int main() {
  auto* text = static_cast<char*>(malloc(10));
  std::memcpy(text, "as it was", 10);
  text = static_cast<char*>(reallocarray(text, 10, 50));
  const bool is_own = text >= pool && text < pool + sizeof pool;
  std::printf("%s, %s\n", text, is_own ? "in its own memory" : "elsewhere");
  return 0;
}
