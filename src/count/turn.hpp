// SPDX-License-Identifier: MIT
// How a call proceeds that cannot simply be counted: the first one of a thread or of a fork child, a timed
// one, or one without its own table.
#pragma once

#include "count/thread.hpp"

namespace heapwright::count {

struct Turn {
  CallTable* table = nullptr;  // nullptr: forward without counting
  bool is_shared = false;      // other threads also add to the table
  bool is_timed = false;
};
Turn begin_turn() noexcept;

}  // namespace heapwright::count
