// SPDX-License-Identifier: MIT
// The process's page of counters: opened at its first heap call, removed at its exit; a fork child opens its
// own.
#pragma once

namespace heapwright::count {

// Opens the page unless it is open. False: there is none, and hooks only forward.
bool link_process() noexcept;

// Stores the end time; removes the file unless its keeper wants to read it.
void end_process() noexcept;

}  // namespace heapwright::count
