// SPDX-License-Identifier: MIT
// Every request of the heap to the kernel for address space and pages. None
// changes errno; each is timed into the counters. Sizes in bytes, page-aligned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

std::size_t system_page_bytes() noexcept;
// RLIMIT_AS; 0 where there is no limit.
std::size_t address_space_limit_bytes() noexcept;

// Address space that nothing can be read from or written to. Null: refused.
void* reserve(std::size_t bytes) noexcept;
void unreserve(void* begin, std::size_t bytes) noexcept;
// A reserved range becomes zeroed memory that may be written.
bool make_writable(void* begin, std::size_t bytes) noexcept;
// Zeroed writable memory at exactly this place, where nothing is mapped yet.
bool map_at(void* begin, std::size_t bytes) noexcept;
// Zeroed writable memory anywhere, outside of the region.
void* map_anywhere(std::size_t bytes) noexcept;
// The pages go back to the system; the range stays usable and reads as zeros.
void drop_pages(void* begin, std::size_t bytes) noexcept;
// Makes every page of the range resident; what they hold stays. False: the
// kernel cannot (before Linux 5.14), or has no memory.
bool populate_pages(void* begin, std::size_t bytes) noexcept;
// How many memory nodes the calling thread may get pages of; 0: unknown.
std::uint32_t memory_node_count() noexcept;
// The pages at `from` appear at `to`, which is writable memory of the same
// size; `from` reads as zeros afterwards. False: nothing was changed.
bool move_pages(void* from, void* to, std::size_t bytes) noexcept;
// A range whose mapping was moved becomes an ordinary zeroed one again.
bool map_anew(void* begin, std::size_t bytes) noexcept;
// No page of the range can be read or written; best effort.
void forbid(void* begin, std::size_t bytes) noexcept;

// For tests: every k-th request for memory is refused; 0: none.
extern std::atomic<std::uint32_t> refuse_every;

}  // namespace heapwright::heap
