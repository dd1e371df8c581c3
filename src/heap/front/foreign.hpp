// SPDX-License-Identifier: MIT
// Pointers that this heap did not give out. The C library's allocator may have
// (a library bound to it by RTLD_DEEPBIND, a block from before the preload), so
// they go there; it names what is not its own, and stops the process.
#pragma once

#include <cstddef>

namespace heapwright::heap {

void release_foreign(void* block) noexcept;
std::size_t usable_bytes_of_foreign(void* block) noexcept;
void* reallocate_foreign(void* block, std::size_t bytes) noexcept;

}  // namespace heapwright::heap
