// SPDX-License-Identifier: MIT
// All of the heap's system calls for address space and pages. They preserve errno and
// are timed in the counters. Sizes are in bytes and page-aligned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

std::size_t system_page_bytes() noexcept;
// RLIMIT_AS; 0: no limit.
std::size_t address_space_limit_bytes() noexcept;

enum class Mapping : std::uint8_t { done, refused, occupied };
// Maps zeroed writable memory at exactly this address. Occupied: something is mapped there.
Mapping map_at(void* begin, std::size_t bytes) noexcept;
// Whether nothing is mapped in the range, as far as the kernel tells.
bool is_unmapped(void* begin, std::size_t bytes) noexcept;
// A free range of this length, chosen by the kernel. Null: there is none.
void* find_unmapped(std::size_t bytes) noexcept;
void unmap(void* begin, std::size_t bytes) noexcept;
// Maps an inaccessible range anywhere; see make_writable().
void* map_out_of_reach(std::size_t bytes) noexcept;
bool make_writable(void* begin, std::size_t bytes) noexcept;
// Asks the kernel to back the range with huge pages, if it has them.
void ask_for_huge_pages(void* begin, std::size_t bytes) noexcept;
// Existing huge pages stay.
void refuse_huge_pages(void* begin, std::size_t bytes) noexcept;
// Returns the pages to the kernel, which keeps those that are locked; the range stays usable and reads as
// zeros either way.
void drop_pages(void* begin, std::size_t bytes) noexcept;
// Moves the pages at `from` to `to`, writable memory of the same size; `from` reads as
// zeros afterwards. False: `from` is unchanged, and `to` may be unmapped.
bool move_pages(void* from, void* to, std::size_t bytes) noexcept;
// Maps a range whose pages were moved as ordinary zeroed memory again.
bool map_anew(void* begin, std::size_t bytes) noexcept;
// Returns the pages to the kernel and makes the range inaccessible until it is mapped
// anew; if that is refused, acts as forbid().
void withdraw(void* begin, std::size_t bytes) noexcept;
// Makes the range inaccessible; best effort.
void forbid(void* begin, std::size_t bytes) noexcept;

// For tests: every k-th request for memory fails; 0: none.
extern std::atomic<std::uint32_t> refuse_every;

}  // namespace heapwright::heap
