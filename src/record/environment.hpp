// SPDX-License-Identifier: MIT
// What the environment of a further image must have for it to be recorded, too.
#pragma once

#include "record/extended_environment.hpp"

namespace heapwright::record {

// Looks up the library's own path. Before main.
void find_own_library() noexcept;

// As this image was started.
RecordedImages images_like_this() noexcept;

}  // namespace heapwright::record
