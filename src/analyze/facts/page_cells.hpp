// SPDX-License-Identifier: MIT
// How full the heap's resident pages are, scan by scan.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// Neighbouring pages of the heap: Facts::cell_bytes of address space with at least one resident page.
struct PageCell {
  std::uint32_t scan = 0;  // of Facts::scans
  std::uint32_t site = 0;  // whose blocks use most of it
  std::uint64_t address = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t used_bytes = 0;  // of live blocks, usable
  std::uint64_t blocks = 0;      // that have a byte in it; 0: site is meaningless
};

// Free space on pages with live blocks, by the stack that uses most of the page.
struct PathPin {
  std::uint32_t scan = 0;  // of Facts::scans
  std::uint32_t stack = 0;
  std::uint64_t pinned_bytes = 0;
};

}  // namespace heapwright::analyze
