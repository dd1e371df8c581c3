// SPDX-License-Identifier: MIT
// trim: malloc_trim() of the C library while the program is idle.
#pragma once

#include <cstdint>

namespace heapwright::apply {

// Starts a thread that looks every `every_ms` whether the process has used little processor time since the
// last look, and then trims, once until it works again, with the heaps of sites. False: there is nothing to
// trim, as another allocator serves the program, or no thread.
bool start_idle_trim(std::uint32_t every_ms, bool has_site_heaps) noexcept;

// How often it was called.
std::uint64_t idle_trims() noexcept;

}  // namespace heapwright::apply
