// SPDX-License-Identifier: MIT
// defer: blocks that the program frees wait in lists until a thread of ours releases them, 10 ms after the
// first one came, as replay's deferred_free has it. The lists are the blocks themselves, so they need no
// memory. Putting a block into one takes one locked instruction, and never waits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::apply {

// About so many bytes wait at most, of all sites together.
inline constexpr std::size_t most_waiting_bytes = std::size_t{64} << 20;

// Before the first block is deferred; again is nothing. Without it, and where there can be no thread, no
// block is deferred.
void start_deferring() noexcept;

// False: release it now. Of blocks of our heap, with the size that own_bytes() has. A block that waits
// already is a double free: stops the process.
bool defer(std::uint32_t remedy, void* block, std::size_t bytes) noexcept;
std::uint64_t deferred_frees(std::uint32_t remedy) noexcept;

// By the calling thread: memory is short. Whether there was any.
bool release_waiting() noexcept;

// A child of a fork has no such thread: it frees at once, and first what waited at the fork.
void stop_deferring_in_child() noexcept;

}  // namespace heapwright::apply
