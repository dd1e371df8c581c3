// SPDX-License-Identifier: MIT
// Which of heapwright's parts this build knows; each joins its experiment.
#pragma once

#include <string_view>

#if __has_include("heapwright/arena.hpp")
#define HEAPWRIGHT_LAB_ARENA "arena "
#else
#define HEAPWRIGHT_LAB_ARENA ""
#endif
#if __has_include("heapwright/buffer_cache.hpp")
#define HEAPWRIGHT_LAB_BUFFER_CACHE "buffer_cache "
#else
#define HEAPWRIGHT_LAB_BUFFER_CACHE ""
#endif
#if __has_include("heapwright/object_pool.hpp")
#define HEAPWRIGHT_LAB_OBJECT_POOL "object_pool "
#else
#define HEAPWRIGHT_LAB_OBJECT_POOL ""
#endif
#if __has_include("heapwright/small_vector.hpp")
#define HEAPWRIGHT_LAB_SMALL_VECTOR "small_vector "
#else
#define HEAPWRIGHT_LAB_SMALL_VECTOR ""
#endif
#if __has_include("heapwright/make_shared_private.hpp")
#define HEAPWRIGHT_LAB_MAKE_SHARED_PRIVATE "make_shared_private "
#else
#define HEAPWRIGHT_LAB_MAKE_SHARED_PRIVATE ""
#endif

namespace heapwright::lab {

constexpr std::string_view known_parts = HEAPWRIGHT_LAB_ARENA HEAPWRIGHT_LAB_BUFFER_CACHE
    HEAPWRIGHT_LAB_MAKE_SHARED_PRIVATE HEAPWRIGHT_LAB_OBJECT_POOL HEAPWRIGHT_LAB_SMALL_VECTOR;

}  // namespace heapwright::lab
