// SPDX-License-Identifier: MIT
// glibc's word before a block.
#pragma once

#include <cstddef>

namespace heapwright::platform {

// The word before a block: its chunk's size and three flags.
struct GlibcHeader {
  std::size_t word;

  explicit GlibcHeader(const void* block) noexcept : word(static_cast<const std::size_t*>(block)[-1]) {}

  // A block with a mapping of its own has a usable size that the word does not fully give.
  bool tells_usable() const noexcept { return (word & is_mapped_alone) == 0; }
  std::size_t usable_bytes() const noexcept { return (word & ~flags) - sizeof word; }

  static constexpr std::size_t is_mapped_alone = 2;
  static constexpr std::size_t flags = 7;
};

// Usable bytes of a block of glibc's malloc; 0: its header does not tell.
[[gnu::always_inline]] inline std::size_t usable_by_glibc_header(const void* block) noexcept {
  const GlibcHeader header(block);
  return header.tells_usable() ? header.usable_bytes() : 0;
}

}  // namespace heapwright::platform
