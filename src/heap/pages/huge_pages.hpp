// SPDX-License-Identifier: MIT
// Asks the kernel to back parts of the heap with huge pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

// For a new growth without data: asks for huge pages, or tries one first, as the setting says.
void ask_for_growth(char* begin, std::size_t bytes) noexcept;

// Asks for the range and touches one of its huge pages; if that takes longer than the 512 faults it saves,
// withdraws the request and returns false; the page stays. The range must be free and contain a huge page.
bool ask_if_quick(char* begin, std::size_t bytes, std::uint64_t (*clock_ns)() noexcept) noexcept;

}  // namespace heapwright::heap
