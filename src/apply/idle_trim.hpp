// SPDX-License-Identifier: MIT
// trim: malloc_trim() of the C library while the program is idle.
#pragma once

#include <cstdint>

namespace heapwright::apply {

// Starts a thread that looks every `every_ms` whether the process has used little processor time since the
// last look, and then trims, once until it works again. False: there is no malloc_trim() or no thread.
bool start_idle_trim(std::uint32_t every_ms) noexcept;

}  // namespace heapwright::apply
