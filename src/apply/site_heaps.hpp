// SPDX-License-Identifier: MIT
// The blocks of remedies: one private heap of our own per remedy. All lie in one region, so that whose a
// block is follows from its address. All functions keep errno, except that failing ones may set ENOMEM.
#pragma once

#include <cstddef>
#include <cstdint>

#include "apply/remedies.hpp"
#include "heap/pages/region.hpp"
#include "heapwright/heap.h"

namespace heapwright::apply {

// Whether a block is ours, not the program's allocator's. Also false for nullptr.
[[gnu::always_inline]] inline bool is_own(const void* block) noexcept {
  return heap::is_used_offset(reinterpret_cast<std::uintptr_t>(block) - heap::region.base);
}

// Makes the heaps. False: no address space; there are none.
bool make_site_heaps(const Remedies& remedies) noexcept;

// nullptr: take the program's allocator. alignment: a power of two.
void* allocate_for(std::uint32_t remedy, std::size_t bytes, std::size_t alignment) noexcept;
void* allocate_zeroed_for(std::uint32_t remedy, std::size_t bytes) noexcept;

// Of own blocks.
void release_own(void* block) noexcept;
// From now on release_own() first asks whether it shall do nothing. nullptr: it is not asked.
using SkipsFree = bool (*)(std::size_t usable_bytes) noexcept;
void skip_own_frees(SkipsFree skips) noexcept;
std::size_t usable_bytes_of_own(void* block) noexcept;
// Without moving to another heap; nullptr: nothing changed. remedy: of the call.
void* resize_own(std::uint32_t remedy, void* block, std::size_t bytes) noexcept;

heapwright_heap_statistics statistics_of(std::uint32_t remedy) noexcept;

// A line for each remedy that has a site.
void print_statistics(const Remedies& remedies, int file) noexcept;

// Around a fork.
void lock_kept_blocks() noexcept;
void unlock_kept_blocks() noexcept;
void reset_kept_blocks_in_child() noexcept;

}  // namespace heapwright::apply
