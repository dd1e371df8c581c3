// SPDX-License-Identifier: MIT
// A library to load and unload. Small and large have the same size and frames
// of different sizes, so that one's rules are wrong for the other. Small and
// twin differ by a constant alone.
#include <cstring>

extern "C" void plugin_call(void (*callback)(), int depth) {
  volatile char frame[PLUGIN_FRAME_BYTES];
  frame[0] = static_cast<char>(depth + PLUGIN_CONSTANT);
  if (depth > 0) {
    plugin_call(callback, depth - 1);
  } else {
    callback();
  }
  asm volatile("" : : "r"(&frame[0]) : "memory");
}
