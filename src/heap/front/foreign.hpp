// SPDX-License-Identifier: MIT
// Pointers that are not from this heap. They may be from the C library's allocator (a
// library bound to it by RTLD_DEEPBIND, a block from before the preload), so they are
// passed to it; it reports pointers that are not its own and stops the process.
#pragma once

#include <cstddef>

namespace heapwright::heap {

void release_foreign(void* block) noexcept;
std::size_t usable_bytes_of_foreign(void* block) noexcept;
void* reallocate_foreign(void* block, std::size_t bytes) noexcept;

}  // namespace heapwright::heap
