// SPDX-License-Identifier: MIT
// Counting a program with an allocator inside, for heapwright count.
#pragma once

#include "collect/options.hpp"

namespace heapwright::collect {

// The exit code: 0 if counting by heapwright-attach sees calls of options.command that a preloaded library
// does not.
int report_inside(const Options& options);

// Starts options.command, has heapwright-attach count it before its first instruction, and returns its exit
// code. One that cannot be attached to is executed in place of this process, with the counting library
// preloaded.
int count_program(const Options& options);

}  // namespace heapwright::collect
