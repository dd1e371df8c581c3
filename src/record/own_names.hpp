// SPDX-License-Identifier: MIT
// The table of own names, and the event that a call of each records.
#pragma once

#include <span>

#include "record/own_name_families.hpp"

namespace heapwright::record {

std::span<const OwnName> own_names() noexcept;

}  // namespace heapwright::record
