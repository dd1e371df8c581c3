// SPDX-License-Identifier: MIT
// Which own names there are, and what a call of each says.
#pragma once

#include <span>

#include "record/own_name_families.hpp"

namespace heapwright::record {

std::span<const OwnName> own_names() noexcept;

}  // namespace heapwright::record
