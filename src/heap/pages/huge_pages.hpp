// SPDX-License-Identifier: MIT
// Asks the kernel to back parts of the heap with huge pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

// For a new growth without data: asks for huge pages, or tries one first, as the setting says.
void ask_for_growth(char* begin, std::size_t bytes) noexcept;

// For a block above 64 KiB before it is used: up to 16 MiB long, it gets no huge pages, nor does the rest of
// the areas of 2 MiB in which it lies. Such blocks are seldom filled to their end, stand beside free runs,
// and grow elsewhere, and a huge page has all of that resident at once.
void exempt_block(char* begin, std::size_t bytes) noexcept;

// Asks for the range and touches one of its huge pages; if that takes longer than the 512 faults it saves,
// withdraws the request and returns false; the page stays. The range must be free and contain a huge page.
bool ask_if_quick(char* begin, std::size_t bytes, std::uint64_t (*clock_ns)() noexcept) noexcept;

}  // namespace heapwright::heap
