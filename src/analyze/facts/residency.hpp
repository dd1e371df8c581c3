// SPDX-License-Identifier: MIT
// Who holds the resident memory, at some of the recording's scans.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// The memory that the kernel counts as resident, at one scan. Each page is in exactly one sum, so they add up
// to resident_bytes; blocks are those that were live when their pages were scanned.
struct Residency {
  std::uint64_t time_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint8_t is_largest = 0;                // of all scans, by the kernel's count
  std::uint8_t is_at_live_peak = 0;           // of all scans, by live bytes, to within a tenth
  std::uint8_t is_most_free = 0;              // by resident but not live bytes, to within a tenth
  std::uint8_t is_most_free_before_last = 0;  // the same among the scans before the last
  std::uint8_t is_last = 0;
  std::uint8_t is_before_asked = 0;       // the last one at or before Options::at_ns
  std::uint8_t is_after_asked = 0;        // the first one after it
  std::uint8_t is_whole = 1;              // not cut short
  std::uint64_t resident_bytes = 0;       // sum of the pages
  std::uint64_t kernel_before_bytes = 0;  // RssAnon + RssFile + RssShmem
  std::uint64_t kernel_after_bytes = 0;
  std::uint64_t swapped_bytes = 0;
  std::uint64_t huge_bytes = 0;  // of the resident ones, on huge pages
  std::uint64_t live_blocks = 0;
  std::uint64_t live_bytes = 0;         // requested, of all live blocks
  std::uint64_t untouched_bytes = 0;    // of these, on pages that are not resident
  std::uint64_t rounding_bytes = 0;     // usable - requested, resident
  std::uint64_t partly_free_bytes = 0;  // free on pages with live blocks
  std::uint64_t free_page_bytes = 0;    // pages without a live block that held one at another time,
                                        // without huge_unused_bytes
  std::uint64_t allocator_bytes = 0;    // other anonymous pages of mappings that hold blocks
  std::uint64_t other_bytes = 0;        // sum over owners
  // Of allocator_bytes, on huge pages: no block was there since the page was last seen absent.
  std::uint64_t huge_unused_bytes = 0;
  std::uint64_t ambiguous_bytes = 0;  // usable bytes of blocks whose call overlaps the scan of their page
};

// The owners of the pages without blocks, at one of the scans.
struct ResidentOwner {
  std::uint32_t scan = 0;  // of Facts::residency
  std::uint32_t kind = 0;  // of Facts::resident_names: program, library, stack, own mapping, ...
  std::uint32_t name = 0;  // the same: a path, or the kernel's name; may be empty
  std::uint32_t site = 0;  // for an own mapping, and for shared memory without a name
  std::uint64_t anonymous_bytes = 0;
  std::uint64_t file_bytes = 0;  // of files and shared memory
};

// Blocks of one site that pin resident pages.
struct PinSite {
  std::uint32_t scan = 0;  // of Facts::residency
  std::uint32_t site = 0;
  std::uint64_t blocks = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t pages = 0;         // resident pages with blocks of this site only
  std::uint64_t pinned_bytes = 0;  // of these pages, less the site's own usable bytes on them
  // Free bytes in [heap], and in the C library's arenas, on pages above the last block of any other site and
  // up to its own last one: that library trims only at the end.
  std::uint64_t held_bytes = 0;
  std::uint64_t usable_bytes = 0;
  // The same rounded up to the common alignment of all its blocks, from 64 B to a page: in any heap they are
  // that far apart. 0: no such alignment.
  std::uint64_t aligned_bytes = 0;
  std::uint64_t age_sum_ns = 0;  // of its blocks
  // Free bytes on pages with blocks of this site and of up to seven others.
  std::uint64_t shared_bytes = 0;
};

// Resident pages with blocks of exactly these sites, two to eight.
struct PinSet {
  std::uint32_t scan = 0;   // of Facts::residency
  std::uint32_t first = 0;  // of Facts::pin_set_sites
  std::uint32_t sites = 0;  // how many, from there on, by number
  std::uint64_t pages = 0;
  std::uint64_t pinned_bytes = 0;  // free on these pages
};

// For one site that pins pages: what has an age from `at_least_ns` to less than ten times that.
struct PinAge {
  std::uint32_t scan = 0;  // of Facts::residency
  std::uint32_t site = 0;
  std::uint64_t at_least_ns = 0;   // 0, or a power of ten from 1 ms on
  std::uint64_t blocks = 0;        // all blocks of the site, by their own age
  std::uint64_t pages = 0;         // as in PinSite, by the age of the oldest block on them
  std::uint64_t pinned_bytes = 0;  // of these pages
};

// Large blocks of one site (64 KiB and more) and how much of them is not resident.
struct UntouchedSite {
  std::uint32_t scan = 0;  // of Facts::residency
  std::uint32_t site = 0;
  std::uint64_t blocks = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t untouched_bytes = 0;
};

}  // namespace heapwright::analyze
