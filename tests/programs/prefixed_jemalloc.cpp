// SPDX-License-Identifier: MIT
// As much of a jemalloc built with --with-jemalloc-prefix=je_ as own_names
// calls; Debian's cannot be opened later (static TLS). Never reuses a block
// before it is closed.
#include <cstddef>
#include <cstring>

namespace {

struct Header {
  std::size_t size;
  std::size_t padding;
};
alignas(256) char pool[96 << 20];
std::size_t used = 0;

Header& header_of(const void* block) { return static_cast<Header*>(const_cast<void*>(block))[-1]; }

}  // namespace

extern "C" {
std::size_t je_nallocx(std::size_t size, int) { return (size + 15) / 16 * 16; }
std::size_t je_malloc_usable_size(const void* block) { return header_of(block).size; }
std::size_t je_sallocx(const void* block, int) { return header_of(block).size; }
void* je_mallocx(std::size_t size, int) {
  used = (used + sizeof(Header) + 255) / 256 * 256;
  void* block = pool + used;
  header_of(block).size = je_nallocx(size, 0);
  used += je_nallocx(size, 0);
  return block;
}
void* je_rallocx(void* old_block, std::size_t size, int) {
  void* block = je_mallocx(size, 0);
  std::memcpy(block, old_block, je_sallocx(old_block, 0));
  return block;
}
std::size_t je_xallocx(void* block, std::size_t size, std::size_t, int) {
  if (size <= 60'202) header_of(block).size = je_nallocx(size, 0);
  return header_of(block).size;
}
void je_dallocx(void*, int) {}
void je_sdallocx(void*, std::size_t, int) {}
}
