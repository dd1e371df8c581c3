// SPDX-License-Identifier: MIT
#pragma once

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// Whether queues agree with flags and owners. For tests.
bool cache_is_valid(const ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
