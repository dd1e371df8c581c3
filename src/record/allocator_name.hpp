// SPDX-License-Identifier: MIT
// Which allocator the process uses, for the trace: "glibc 2.36 (/lib/…/libc.so.6)".
#pragma once

#include <cstddef>

namespace heapwright::record {

// Finds the version functions of the object at `used_malloc`. Must be called once, at a time when the
// recorder may look up symbols.
void find_allocator_version(void* used_malloc) noexcept;

// Writes name, version and path into `to`, truncated to `capacity` bytes including the final zero. The file
// name replaces an unknown name; an unknown version is left out. Calls the allocator, so must not be called
// from inside it.
void write_allocator_name(char* to, std::size_t capacity) noexcept;

// The path alone, without calling anything; "" if unknown.
const char* allocator_path() noexcept;

}  // namespace heapwright::record
