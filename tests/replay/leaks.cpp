// SPDX-License-Identifier: MIT
// What a recorded program leaves live at its end, its replay does as well: those blocks are no leaks.

extern "C" const char* __lsan_default_suppressions();

const char* __lsan_default_suppressions() { return "leak:heapwright::replay::make_block\n"; }
