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

enum class Mapping : std::uint8_t { done, refused, occupied };
// Zeroed writable memory at exactly this place. Occupied: something is mapped there.
Mapping map_at(void* begin, std::size_t bytes) noexcept;
// Nothing is mapped in the range, as far as the kernel says.
bool is_unmapped(void* begin, std::size_t bytes) noexcept;
// A range of this length in which the kernel would map. Null: there is none.
void* find_unmapped(std::size_t bytes) noexcept;
void unmap(void* begin, std::size_t bytes) noexcept;
// A range anywhere, of which nothing can be read or written until it is made writable.
void* map_out_of_reach(std::size_t bytes) noexcept;
bool make_writable(void* begin, std::size_t bytes) noexcept;
// The kernel backs the range by huge pages where it has them; nothing happens where it does not.
void ask_for_huge_pages(void* begin, std::size_t bytes) noexcept;
// Those that are there stay.
void refuse_huge_pages(void* begin, std::size_t bytes) noexcept;
// The pages go back to the system; the range stays usable and reads as zeros.
void drop_pages(void* begin, std::size_t bytes) noexcept;
// The pages at `from` appear at `to`, which is writable memory of the same
// size; `from` reads as zeros afterwards. False: `from` is as before, and `to` perhaps unmapped.
bool move_pages(void* from, void* to, std::size_t bytes) noexcept;
// A range whose mapping was moved becomes an ordinary zeroed one again.
bool map_anew(void* begin, std::size_t bytes) noexcept;
// The pages go back to the system, and the range can be neither read nor written until
// it is mapped anew; where that is refused, as forbid().
void withdraw(void* begin, std::size_t bytes) noexcept;
// No page of the range can be read or written; best effort.
void forbid(void* begin, std::size_t bytes) noexcept;

// For tests: every k-th request for memory is refused; 0: none.
extern std::atomic<std::uint32_t> refuse_every;

}  // namespace heapwright::heap
