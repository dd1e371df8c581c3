// SPDX-License-Identifier: MIT
// Preloaded in place of the recorder by tests whose program writes to the
// session itself.
extern const int heapwright_empty_library;
const int heapwright_empty_library = 0;
