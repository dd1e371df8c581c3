// SPDX-License-Identifier: MIT
// Only looked at, never run: names and texts of allocators, by a macro.
#include <cstddef>
#include <cstdlib>

extern "C" {
#define KEPT [[gnu::used, gnu::noinline]]
#if defined(PREFIXED)  // as in duckdb
KEPT void* app_je_malloc(std::size_t) { return nullptr; }
KEPT void app_je_arena_init() {}
#elif defined(ALIGNED)  // as in a Rust program with the mimalloc crate
KEPT static void* mi_malloc_aligned(std::size_t, std::size_t) { return nullptr; }
KEPT static void mi_free(void*) {}
#elif defined(TEXT)     // stripped
[[gnu::used]] extern const char text[] = "<jemalloc>: Error in munmap(): %s\n";
#elif defined(WRAPPER)
KEPT void* je_malloc(std::size_t size) { return std::malloc(size); }
KEPT void je_free(void* block) { std::free(block); }
KEPT void semi_mi_free_list() {}
#elif defined(LIBCS_OWN)
void* __libc_malloc(std::size_t size);
KEPT void* own_alloc(std::size_t size) { return __libc_malloc(size); }
#elif defined(GO)
[[gnu::used, gnu::section(".gopclntab")]] extern const int functions = 1;
KEPT void _start() {}
#elif defined(RUST)  // neither malloc nor a known allocator
KEPT void* __rust_alloc(std::size_t, std::size_t) { return nullptr; }
#endif
}

int main() { return 0; }
