// SPDX-License-Identifier: MIT
// The process's page of counters: opened at its first heap call, removed at its
// exit; a fork child opens one of its own.
#pragma once

namespace heapwright::count {

// Opens the page if nobody has. False: there is none, hooks forward.
bool link_process() noexcept;

// Notes the moment; removes the file unless its keeper wants to read it.
void end_process() noexcept;

}  // namespace heapwright::count
