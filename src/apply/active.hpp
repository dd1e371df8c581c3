// SPDX-License-Identifier: MIT
// What is applied in this process.
#pragma once

#include "apply/remedies.hpp"

namespace heapwright::apply {

// nullptr: nothing, and every call is forwarded. Set once, before main.
const Remedies* active_remedies() noexcept;

}  // namespace heapwright::apply
