// SPDX-License-Identifier: MIT
// How a call that cannot just count goes on: the first one of a thread or of a
// fork child, one that is timed, one without a table of its own.
#pragma once

#include "count/thread.hpp"

namespace heapwright::count {

struct Turn {
  CallTable* table = nullptr;  // nullptr: forward without counting
  bool is_shared = false;      // others add to the table meanwhile
  bool is_timed = false;
};
Turn begin_turn() noexcept;

}  // namespace heapwright::count
