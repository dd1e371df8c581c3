// SPDX-License-Identifier: MIT
// Which of the heap's memory the kernel is asked to back by huge pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

// Of a growth that nothing is in yet, as the setting says: asks for it, or tries one of its pages first.
void ask_for_growth(char* begin, std::size_t bytes) noexcept;

// Asks for the range, touches one of its huge pages and takes all of it back if that takes longer than the
// 512 faults which it saves; the page stays. False: it took longer. The range has to be free and holds a huge
// page.
bool ask_if_quick(char* begin, std::size_t bytes, std::uint64_t (*clock_ns)() noexcept) noexcept;

}  // namespace heapwright::heap
