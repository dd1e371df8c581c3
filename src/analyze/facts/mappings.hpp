// SPDX-License-Identifier: MIT
// The program's own mappings.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// Memory that the program mapped itself, by the site of the mmap, mremap or sbrk. Mapped does not mean
// resident. mremap ends the old mapping and makes a new one. Lengths are whole pages. Older traces do not say
// what is file-backed or reserved.
struct MappingSite {
  std::uint32_t site = 0;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t of_files_bytes = 0;
  std::uint64_t unmapped_bytes = 0;    // of this site's mappings, whoever unmapped or replaced them
  std::uint64_t given_back_bytes = 0;  // by madvise, still mapped: MADV_DONTNEED, MADV_FREE, MADV_REMOVE
  std::uint64_t at_end_bytes = 0;      // bytes - unmapped_bytes, and what was mapped before the time range
  std::uint64_t reserved_at_end_bytes = 0;  // of at_end_bytes: PROT_NONE
};

// What was resident of all mappings of one such site, at one of up to 128 scans that are spread over the run.
// Mappings that hold blocks are left out: they are a heap's.
struct OwnMoment {
  std::uint64_t time_ns = 0;
  std::uint32_t site = 0;
  std::uint64_t bytes = 0;
};

}  // namespace heapwright::analyze
