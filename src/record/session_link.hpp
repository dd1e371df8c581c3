// SPDX-License-Identifier: MIT
// Connects a process to the session's memory, and passes the session on in the environment or removes it from
// there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "session/layout.hpp"

namespace heapwright::record {

// The value of HEAPWRIGHT_SESSION, kept for an image that replaces this one.
inline constexpr std::size_t session_text_bytes = 192;
const char* session_text() noexcept;

// Reads it from the environment; false if it is not there.
bool find_session_text() noexcept;

// Removes the recording from the environment, so that programs started by this one run without it. In place:
// nothing is allocated.
void remove_session_from(char** variables) noexcept;

// Opens the session's file, by its path or through one of the collector's two doors. -1: none works.
int open_session() noexcept;
void close_session(int file) noexcept;

// Without the start table. nullptr: not our session, or its collector is gone.
session::Control* map_control(int file) noexcept;

// Maps a part of the session's memory. Without a file (-1), its pages are reached through `control`. That
// needs no permission, but briefly as much address space as lies before the part. nullptr: failed.
void* map_part(session::Control& control, int file, std::uint64_t offset, std::size_t bytes) noexcept;
// The same without a file, for memory that begins `skipped_bytes` after a mapped address of the session.
void* map_after(void* mapped, std::size_t skipped_bytes, std::size_t bytes) noexcept;
void unmap_part(void* address, std::size_t bytes) noexcept;

}  // namespace heapwright::record
