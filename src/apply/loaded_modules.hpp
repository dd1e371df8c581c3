// SPDX-License-Identifier: MIT
// Finds the file's modules among the loaded objects by their build ids, and arms the stacks in them.
#pragma once

#include <cstdint>

#include "apply/remedies.hpp"

namespace heapwright::apply {

// Does nothing if no object was loaded or unloaded since the last time, and while another thread does it.
// Says once on stderr which remedies are off since a module was built anew, or its code cannot be followed.
void arm_loaded(const Remedies& remedies) noexcept;

// In a forked child, whose parent may have been doing it in another thread.
void forget_arming_thread() noexcept;

}  // namespace heapwright::apply
