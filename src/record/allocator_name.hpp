// SPDX-License-Identifier: MIT
// Which allocator the process uses, for the trace: "glibc 2.36 (/lib/…/libc.so.6)".
#pragma once

#include <cstddef>

namespace heapwright::record {

// Finds the functions by which the object at `used_malloc` tells its version.
// To be called once, where the recorder may look symbols up.
void find_allocator_version(void* used_malloc) noexcept;

// Writes name, version and path into `to`, cut to `capacity` bytes with the
// final zero; the file's name stands in for a name that is not known, and an
// unknown version is left out. Calls the allocator, and so is not to be used
// from inside of it.
void write_allocator_name(char* to, std::size_t capacity) noexcept;

// The path alone, without calling anything; "" if unknown.
const char* allocator_path() noexcept;

}  // namespace heapwright::record
