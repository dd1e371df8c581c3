// SPDX-License-Identifier: MIT
#pragma once

namespace heapwright::heap {

// Runs by itself when the library is loaded, before other constructors. Whoever has the heap's malloc refers
// to it: of an archive, the linker leaves out an object that nothing refers to, and with it its constructor.
void start() noexcept;

}  // namespace heapwright::heap
