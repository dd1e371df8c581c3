// SPDX-License-Identifier: MIT
// How a process reaches the session's memory, and how it hands the way on or
// takes it out of the environment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "session/layout.hpp"

namespace heapwright::record {

// The value of HEAPWRIGHT_SESSION, kept for an image that replaces this one.
inline constexpr std::size_t session_text_bytes = 128;
const char* session_text() noexcept;

// Reads it from the environment; false when it is not there.
bool find_session_text() noexcept;

// Takes the recording out of the environment, so that programs started by
// this one run without it. In place: nothing is allocated.
void leave_no_trace_in(char** variables) noexcept;

// The session's file, by its path or from the collector's door. -1: neither.
int open_session() noexcept;
void close_session(int file) noexcept;

// nullptr: not our session, or its collector is gone.
session::Control* map_control(int file) noexcept;

// A part of the session's memory. Without a file (-1) its pages are reached by
// way of `control`, which needs no permission but, for a moment, as much
// address space as lies before the part. nullptr: cannot be had.
void* map_part(session::Control& control, int file, std::uint64_t offset, std::size_t bytes) noexcept;
void unmap_part(void* address, std::size_t bytes) noexcept;

}  // namespace heapwright::record
