// SPDX-License-Identifier: MIT
// glibc's word before a block.
#pragma once

#include <cstddef>

namespace heapwright::platform {

// Usable bytes of a block of glibc's malloc; 0: it has its own mapping, whose usable size the header word
// does not fully give.
[[gnu::always_inline]] inline std::size_t usable_by_glibc_header(const void* block) noexcept {
  const std::size_t header = static_cast<const std::size_t*>(block)[-1];
  constexpr std::size_t is_mapped_alone = 2;
  constexpr std::size_t flags = 7;
  return (header & is_mapped_alone) != 0 ? 0 : (header & ~flags) - sizeof header;
}

}  // namespace heapwright::platform
