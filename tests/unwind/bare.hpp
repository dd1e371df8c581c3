// SPDX-License-Identifier: MIT
// Functions without unwind tables, and what they know of their stack.
#pragma once

struct Bare {
  int (*capture)(Bare& to);
  const void* returns[256];  // of the bare functions, outermost first
  int depth;
};

extern "C" {
int framed_call(Bare& to, int levels);
int frameless_call(Bare& to, int levels);
}
